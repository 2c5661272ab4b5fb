#include "report/watch_screen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include <plimsoll/base/printable.h>
#include <plimsoll/base/text.h>

#include "report/json_fields.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kBar = 30;
constexpr std::size_t kHolders = 8;
constexpr std::size_t kEvents = 4;

std::string bar(double share, std::size_t width) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width) + 0.5);
  return fmt::format("[{:<{}}]", std::string(filled, '#'), width);
}

/// Loss over the steps so far in `width` characters, the mean of each part of them.
std::string curve(const std::vector<RunStep>& steps, std::size_t width) {
  static constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> means;
  const std::size_t parts = std::min(width, steps.size());
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t begin = steps.size() * p / parts;
    const std::size_t end = steps.size() * (p + 1) / parts;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += steps[i].loss;
    means.push_back(sum / static_cast<double>(end - begin));
  }
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (const double mean : means) {
    if (std::isfinite(mean)) {
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
  }
  std::string text;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      text += "?";
      continue;
    }
    const double share = high > low ? (mean - low) / (high - low) : 0;
    text += kHeights[static_cast<std::size_t>(std::lround(share * 7))];
  }
  return text;
}

std::int64_t total_steps(const Run& run) { return count(parsed(run.begin), "total_steps"); }

std::string progress_of(const Run& run) {
  if (run.steps.empty()) return "no step yet";
  const RunStep& last = run.steps.back();
  const std::int64_t total = total_steps(run);
  std::string text = fmt::format("step {}", format_count(last.step));
  if (total > 0) text += fmt::format("/{}", format_count(total));
  text += fmt::format(", epoch {}", format_count(last.epoch + 1));
  if (std::isfinite(last.loss)) text += fmt::format(", loss {:.4f}", last.loss);
  if (std::isfinite(last.accuracy)) text += fmt::format(", accuracy {:.3f}", last.accuracy);
  return text;
}

/// Elements per second over the last lines.
std::string speed(const Run& run) {
  constexpr std::size_t kLast = 50;
  if (run.steps.size() < 3) return "";
  const std::size_t begin = run.steps.size() - std::min(kLast, run.steps.size() - 1);
  std::int64_t elements = 0;
  for (std::size_t i = begin; i < run.steps.size(); ++i) elements += run.steps[i].elements;
  const double seconds = run.steps.back().time - run.steps[begin - 1].time;
  return seconds > 0 ? format_rate(static_cast<double>(elements) / seconds, "elements") : "";
}

std::string memory_text(const RunDevice& device) {
  const RunMemory& now = device.memory.back();
  return fmt::format("{}: {} of {}, peak {}", printable(device.name), format_bytes(now.used),
                     format_bytes(now.limit), format_bytes(device.peak.used));
}

std::string event_text(const RunEvent& event) {
  const Json json = parsed(event.json);
  std::string text = fmt::format("{}  {}", format_duration(event.time), event.kind);
  if (event.kind == "limit") text += " " + format_bytes(size(json, "budget"));
  if (event.kind == "epoch") text += " " + format_count(count(json, "epoch"));
  for (const char* name : {"why", "message", "path"}) {
    if (const std::string more = report::text(json, name); !more.empty()) text += ": " + more;
  }
  return text;
}

/// At most so many columns of a text that may be UTF-8.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (seen++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string watch_line(const Run& run) {
  std::string text = fmt::format("{}  {}", state_name(run.state), progress_of(run));
  if (const std::string rate = speed(run); !rate.empty()) text += "  " + rate;
  for (const RunDevice& device : run.devices) {
    if (!device.memory.empty()) text += "  " + memory_text(device);
  }
  return text;
}

std::vector<std::string> watch_screen(const Run& run, std::size_t columns) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) { lines.push_back(cut(line, columns)); };
  add(fmt::format("{}  {}  {}", printable(run.name), state_name(run.state),
                  format_duration(run.seconds)));
  const std::string rate = speed(run);
  add(progress_of(run) + (rate.empty() ? "" : ", " + rate));
  const std::int64_t total = total_steps(run);
  if (total > 0 && !run.steps.empty()) {
    const double share = static_cast<double>(run.steps.back().step) / static_cast<double>(total);
    add(fmt::format("{} {:.0f}%", bar(share, std::min(kBar * 2, columns > 8 ? columns - 8 : 1)),
                    share * 100));
  }
  if (run.steps.size() > 1) add("loss " + curve(run.steps, columns > 6 ? columns - 6 : 1));
  for (const RunDevice& device : run.devices) {
    if (device.memory.empty()) continue;
    const RunMemory& now = device.memory.back();
    add("");
    add(memory_text(device));
    const double limit = static_cast<double>(std::max<Bytes>(now.limit, 1));
    add(fmt::format("{} {:.0f}% of the budget", bar(static_cast<double>(now.used) / limit, kBar),
                    100 * static_cast<double>(now.used) / limit));
    std::vector<RunHeld> held = now.held;
    std::ranges::sort(held, std::greater<>(), &RunHeld::bytes);
    for (std::size_t i = 0; i < std::min(held.size(), kHolders); ++i) {
      const RunHolder& holder = run.holders[held[i].holder];
      add(fmt::format("  {:<12} {:>10}  {}", printable(holder.tag), format_bytes(held[i].bytes),
                      printable(holder.label)));
    }
  }
  if (!run.events.empty()) add("");
  const std::size_t first = run.events.size() - std::min(run.events.size(), kEvents);
  for (std::size_t i = first; i < run.events.size(); ++i) {
    add(printable(event_text(run.events[i])));
  }
  if (!run.ending.empty()) add(printable(run.ending));
  return lines;
}

}  // namespace plimsoll::report
