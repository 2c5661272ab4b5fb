#include "report/reports_json.h"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostRows = 2000;
constexpr std::size_t kLongest = 400;

std::string short_text(const Json& json, const char* name) {
  std::string found = text(json, name);
  if (found.size() <= kLongest) return found;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(found[end]) & 0xC0U) == 0x80U) --end;
  return found.substr(0, end) + " …";
}

Json size_of(const Json& json, const char* name) {
  const Bytes bytes = size(json, name);
  return bytes == kUnlimited ? Json() : Json(bytes);
}

/// Calls `each` with every object of a list.
template <typename Each>
void for_objects(const Json* list, Each each) {
  if (list == nullptr || !list->is_array()) return;
  std::size_t left = kMostRows;
  for (const Json& item : *list) {
    if (left-- == 0) return;
    if (item.is_object()) each(item);
  }
}

}  // namespace

Json checked_refusal(const Json& report) {
  if (!report.is_object()) return Json();
  Json all = {{"requested", size_of(report, "requested")},
              {"tag", short_text(report, "tag")},
              {"label", short_text(report, "label")},
              {"budget", short_text(report, "budget")},
              {"limit", size_of(report, "limit")},
              {"used", size_of(report, "used")},
              {"promised", size_of(report, "promised")},
              {"system_error", short_text(report, "system_error")},
              {"free_mapped", size_of(report, "free_mapped")},
              {"largest_free", size_of(report, "largest_free")},
              {"fragmentation", number_or(field(report, "fragmentation"), 0)},
              {"holders", Json::array()},
              {"remedies", Json::array()}};
  for_objects(field(report, "holders"), [&](const Json& each) {
    all["holders"].push_back({{"budget", short_text(each, "budget")},
                              {"tag", short_text(each, "tag")},
                              {"label", short_text(each, "label")},
                              {"bytes", size_of(each, "bytes")},
                              {"blocks", count(each, "blocks")}});
  });
  for_objects(field(report, "remedies"), [&](const Json& each) {
    all["remedies"].push_back(
        {{"text", short_text(each, "text")}, {"bytes", size_of(each, "bytes")}});
  });
  return all;
}

Json checked_leak(const Json& report) {
  if (!report.is_object()) return Json();
  Json history = Json::array();
  if (const Json* const list = field(report, "history"); list != nullptr && list->is_array()) {
    for (const Json& each : *list) {
      if (history.size() == kMostRows) break;
      history.push_back(std::max<std::int64_t>(0, count_or(&each, 0)));
    }
  }
  return {{"budget", short_text(report, "budget")}, {"tag", short_text(report, "tag")},
          {"label", short_text(report, "label")},   {"what", short_text(report, "what")},
          {"index", count(report, "index")},        {"first", size_of(report, "first")},
          {"bytes", size_of(report, "bytes")},      {"history", history}};
}

Json checked_curve(const Json& points) {
  Json all = Json::array();
  for_objects(&points, [&](const Json& each) {
    const double seconds = number(each, "seconds");
    const Bytes budget = size(each, "budget");
    if (!std::isfinite(seconds) || budget == 0 || budget == kUnlimited) return;
    all.push_back({{"budget", budget}, {"seconds", seconds}});
  });
  return all;
}

Run as_reported(const Json& report) {
  Run run;
  run.name = "out of memory";
  run.about = run.begin = run.end = "null";
  run.state = RunState::reported;
  const Json checked = checked_refusal(report);
  run.out_of_memory = dumped(checked);
  const std::string budget = text(checked, "budget");
  run.ending = fmt::format("{} was refused by {}", format_bytes(size(checked, "requested")),
                           budget.empty() ? "the system" : budget);
  return run;
}

}  // namespace plimsoll::report
