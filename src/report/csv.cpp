#include <cmath>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/report/exports.h>

#include "report/export_names.h"
#include "report/write_file.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

/// A cell of text. What a spreadsheet would take for a formula gets an apostrophe before it.
std::string cell(const std::string& text) {
  std::string safe = valid_text(text);
  if (!safe.empty() && std::string_view("=+-@\t\r").find(safe.front()) != std::string_view::npos) {
    safe.insert(0, 1, '\'');
  }
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Nothing for what is not a number.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string steps_of(std::span<const Run> runs) {
  std::string text =
      "run,time,step,steps,epoch,loss,loss_min,loss_max,accuracy,lr,seconds,waited,elements,used\n";
  for (const Run& run : runs) {
    const std::string name = cell(run.name);
    for (const RunStep& s : run.steps) {
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name,
                     cell(s.time), s.step, s.steps, s.epoch, cell(s.loss), cell(s.loss_min),
                     cell(s.loss_max), cell(s.accuracy), cell(s.lr), cell(s.seconds),
                     cell(s.waited), s.elements, s.used);
    }
  }
  return text;
}

std::string memory_of(std::span<const Run> runs) {
  std::string text = "run,time,device,what,budget,tag,label,bytes\n";
  for (const Run& run : runs) {
    const std::string name = cell(run.name);
    for (const RunDevice& device : run.devices) {
      const std::string on = cell(device.name);
      for (const RunMemory& memory : device.memory) {
        const auto row = [&](const char* what, const RunHolder& holder, Bytes bytes) {
          fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", name,
                         cell(memory.time), on, what, cell(holder.budget), cell(holder.tag),
                         cell(holder.label), bytes);
        };
        row("used", {}, memory.used);
        if (memory.limit != kUnlimited) row("limit", {}, memory.limit);
        if (memory.system != 0) row("system", {}, memory.system);
        for (const RunHeld& held : memory.held) row("held", run.holders[held.holder], held.bytes);
      }
    }
  }
  return text;
}

std::string metrics_of(std::span<const Run> runs) {
  std::string text = "run,time,epoch,name,value\n";
  for (const Run& run : runs) {
    for (const RunMetric& each : run.metrics) {
      text += fmt::format("{},{},{},{},{}\n", cell(run.name), cell(each.time), each.epoch,
                          cell(each.name), cell(each.value));
    }
  }
  return text;
}

std::string events_of(std::span<const Run> runs) {
  std::string text = "run,time,event,json\n";
  for (const Run& run : runs) {
    for (const RunEvent& each : run.events) {
      text += fmt::format("{},{},{},{}\n", cell(run.name), cell(each.time), cell(each.kind),
                          cell(each.json));
    }
  }
  return text;
}

}  // namespace

void write_csv(std::span<const Run> runs, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw DataError(
        fmt::format("[report] the folder {} cannot be created: {}", folder, error.message()));
  }
  const auto put = [&](const char* name, const std::string& text) {
    write_file((fs::path(folder) / name).string(), text);
  };
  put("steps.csv", steps_of(runs));
  put("memory.csv", memory_of(runs));
  put("metrics.csv", metrics_of(runs));
  put("events.csv", events_of(runs));
}

}  // namespace plimsoll::report
