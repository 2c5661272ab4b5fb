#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/device/backend.h>

#include "command_line.h"
#include "commands.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDevicesFooter =
    "What the lines mean:\n"
    "  total  memory of the device; on the CPU at most what its control groups allow\n"
    "  free   what could be taken now\n"
    "  limit  the budget of a program that does not state one: what is free, less\n"
    "         what the process itself needs on the CPU. To state one,\n"
    "         pm.device(\"cuda:0\", limit=\"8GiB\") in Python, and\n"
    "         Device::open(\"cuda:0\", {.limit = GiB(8)}) in C++\n"
    "  held   who has the rest. Listing a GPU does not open it and takes no memory on\n"
    "         it; --open does, and shows what the driver's context takes\n"
    "  with   libraries that the GPU's ops use\n"
    "\n"
    "Examples:\n"
    "  plimsoll devices\n"
    "  plimsoll devices --open\n"
    "  plimsoll devices --json | jq '.devices[0].free'";

/// Who has what on a device, the largest first.
struct DeviceRow {
  DeviceInfo info;
  std::optional<Bytes> limit;  ///< nullopt: what is free is not known
  std::vector<Holder> holders;
  std::string note;  ///< what one must know of the figures; empty: nothing
};

/// Memory that no ledger of ours has: found from the system's figures.
Holder outside(std::string label, Bytes bytes) {
  Holder holder;
  holder.label = std::move(label);
  holder.bytes = bytes;
  return holder;
}

/// By anybody; 0 where nothing tells.
Bytes taken(const DeviceInfo& info) {
  return info.total - std::min(info.total, info.free.value_or(info.total));
}

/// Adds what opening the device shows, and returns how much of what is taken it explains.
Bytes look_inside(DeviceRow& row) {
  const Device device = Device::open(row.info.name);
  row.info = device.info();
  row.limit = device.budget().limit();
  row.holders = device.budget().ledger().holders();
  if (!device.capabilities().host_memory) return device.runtime();
  const Bytes own = std::min(taken(row.info), device.baseline());
  if (own > 0) row.holders.push_back(outside("this command", own));
  return own;
}

DeviceRow look_at(const DeviceInfo& info, bool open) {
  DeviceRow row{info, info.free, {}, {}};
  Bytes explained = 0;
  try {
    if (open || info.name == "cpu:0") explained = look_inside(row);
    row.note = usage_note(row.info.usage);
  } catch (const Error& error) {
    row.note = fmt::format("it cannot be opened: {}", error.what());
  }
  const Bytes others = taken(row.info) - std::min(taken(row.info), explained);
  if (others > 0) row.holders.push_back(outside("other processes and the system", others));
  std::stable_sort(row.holders.begin(), row.holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return row;
}

Json or_null(const std::optional<Bytes>& bytes) { return bytes ? Json(*bytes) : Json(); }
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json to_json(const DeviceRow& row) {
  Json holders = Json::array();
  for (const Holder& holder : row.holders) {
    const bool ours = !holder.budget.empty();
    holders.push_back({{"budget", ours ? Json(holder.budget) : Json(nullptr)},
                       {"tag", ours ? Json(tag_name(holder.tag)) : Json(nullptr)},
                       {"label", holder.label},
                       {"bytes", holder.bytes}});
  }
  return {{"name", row.info.name},
          {"description", row.info.description},
          {"total", row.info.total},
          {"free", or_null(row.info.free)},
          {"limit", or_null(row.limit)},
          {"holders", holders},
          {"libraries", or_null(row.info.libraries)},
          {"usage", usage_name(row.info.usage)},
          {"note", or_null(row.note)}};
}

void print_wrapped(const std::string& text, std::size_t indent) {
  fmt::print("{}\n", wrapped(text, indent));
}

void print(const DeviceRow& row) {
  fmt::print("{:<8}{}\n", row.info.name, row.info.description);
  fmt::print("        total {:>10}\n", format_bytes(row.info.total));
  const auto shown = [](const std::optional<Bytes>& bytes) {
    return bytes ? format_bytes(*bytes) : "unknown";
  };
  fmt::print("        free  {:>10}{}\n", shown(row.info.free),
             row.info.free ? "" : "   not known until the device is opened (--open)");
  fmt::print("        limit {:>10}   {}\n", shown(row.limit),
             row.limit ? "unless a program asks for less"
                       : "what is free then, unless a program asks for less");
  const char* heading = "held";
  for (const Holder& holder : row.holders) {
    fmt::print("        {:<5} {:>10}   {}{}\n", heading, format_bytes(holder.bytes),
               holder.budget.empty() ? "" : fmt::format("{} ", tag_name(holder.tag)), holder.label);
    heading = "";
  }
  if (!row.info.libraries.empty()) print_wrapped("        with   " + row.info.libraries, 15);
  if (!row.note.empty()) print_wrapped("        note   " + row.note, 15);
}

void run_devices(bool json, bool open) {
  std::map<std::string, std::string> missing;
  std::vector<DeviceRow> rows;
  for (const DeviceInfo& info : list_devices(&missing)) rows.push_back(look_at(info, open));
  if (json) {
    Json devices = Json::array();
    for (const DeviceRow& row : rows) devices.push_back(to_json(row));
    Json all = {{"devices", devices}};
    for (const Backend* backend : backends()) {
      if (backend->capabilities.host_memory) continue;
      const auto why = missing.find(backend->name);
      all["why_no_" + backend->name] = why == missing.end() ? Json(nullptr) : Json(why->second);
    }
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const DeviceRow& row : rows) print(row);
  for (const auto& [backend, why] : missing) {
    print_wrapped(fmt::format("No {}: {}", find_backend(backend)->title, why), 8);
  }
}

}  // namespace

void add_devices(Command& app) {
  Command* const command =
      app.add_subcommand("devices", "List the devices, their memory and who holds it");
  command->footer(kDevicesFooter);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object, sizes in bytes");
  const auto open = std::make_shared<bool>(false);
  command->add_flag("--open", *open, "Also open GPUs, which takes memory on them");
  command->callback([json, open] { run_devices(*json, *open); });
}

}  // namespace plimsoll::tools
