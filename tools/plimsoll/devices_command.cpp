#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <plimsoll/base/bytes.h>
#include <plimsoll/device/device.h>

#include "commands.h"

namespace plimsoll::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFooter =
    "What the lines mean:\n"
    "  total  what the device has; on the CPU at most what its control groups allow\n"
    "  free   what could be taken now\n"
    "  limit  the budget of a program that asks for none: what is free. To state one,\n"
    "         Device::open(\"cuda:0\", {.limit = GiB(8)})\n"
    "  held   who has the rest. Listing a GPU opens nothing and takes no memory.\n"
    "\n"
    "Examples:\n"
    "  plimsoll devices\n"
    "  plimsoll devices --json | jq '.devices[0].free'";

/// Who has what on a device, the largest first.
struct DeviceRow {
  DeviceInfo info;
  Bytes limit = 0;
  std::vector<Holder> holders;
};

/// Memory that no ledger of ours has: found from the system's figures.
Holder outside(std::string label, Bytes bytes) {
  Holder holder;
  holder.label = std::move(label);
  holder.bytes = bytes;
  return holder;
}

DeviceRow look_at(const DeviceInfo& info) {
  DeviceRow row{info, info.free, {}};
  Bytes others = info.total - std::min(info.total, info.free);
  if (info.name == "cpu:0") {
    const Device device = Device::open(info.name);
    row.limit = device.budget().limit();
    row.holders = device.budget().ledger().holders();
    const Bytes own = std::min(others, device.baseline());
    others -= own;
    if (own > 0) row.holders.push_back(outside("this command", own));
  }
  if (others > 0) row.holders.push_back(outside("other processes and the system", others));
  std::stable_sort(row.holders.begin(), row.holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return row;
}

Json to_json(const DeviceRow& row) {
  Json holders = Json::array();
  for (const Holder& holder : row.holders) {
    const bool ours = !holder.budget.empty();
    holders.push_back({{"budget", ours ? Json(holder.budget) : Json(nullptr)},
                       {"tag", ours ? Json(tag_name(holder.tag)) : Json(nullptr)},
                       {"label", holder.label},
                       {"bytes", holder.bytes}});
  }
  return {{"name", row.info.name},   {"description", row.info.description},
          {"total", row.info.total}, {"free", row.info.free},
          {"limit", row.limit},      {"holders", holders}};
}

void print(const DeviceRow& row) {
  fmt::print("{:<8}{}\n", row.info.name, row.info.description);
  fmt::print("        total {:>10}\n", format_bytes(row.info.total));
  fmt::print("        free  {:>10}\n", format_bytes(row.info.free));
  fmt::print("        limit {:>10}   unless a program asks for less\n", format_bytes(row.limit));
  const char* heading = "held";
  for (const Holder& holder : row.holders) {
    fmt::print("        {:<5} {:>10}   {}{}\n", heading, format_bytes(holder.bytes),
               holder.budget.empty() ? "" : fmt::format("{} ", tag_name(holder.tag)), holder.label);
    heading = "";
  }
}

/// Prints `text` in lines of at most 80 columns; all but the first are indented.
void print_wrapped(std::string text) {
  constexpr std::size_t kWidth = 80;
  while (text.size() > kWidth) {
    const std::size_t blank = text.rfind(' ', kWidth);
    if (blank == std::string::npos || blank < kWidth / 2) break;
    fmt::print("{}\n", text.substr(0, blank));
    text = "        " + text.substr(blank + 1);
  }
  fmt::print("{}\n", text);
}

void run(bool json) {
  std::string why_no_cuda;
  std::vector<DeviceRow> rows;
  for (const DeviceInfo& info : list_devices(&why_no_cuda)) rows.push_back(look_at(info));
  if (json) {
    Json devices = Json::array();
    for (const DeviceRow& row : rows) devices.push_back(to_json(row));
    Json all = {{"devices", devices}};
    all["why_no_cuda"] = why_no_cuda.empty() ? Json(nullptr) : Json(why_no_cuda);
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const DeviceRow& row : rows) print(row);
  if (!why_no_cuda.empty()) print_wrapped("No CUDA: " + why_no_cuda);
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("devices", "List the devices, their memory and who holds it");
  command->footer(kFooter);
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object, sizes in bytes");
  command->callback([json] { run(*json); });
}

}  // namespace plimsoll::tools
