#include <plimsoll/report/run.h>

#include <array>

#include <fmt/format.h>

#include "report/reports_json.h"
#include "report/run_reader.h"

namespace plimsoll::report {
namespace {

/// Calls `each` with every line that ends, its offset and its number; what is after the last line
/// end is not a line.
template <typename Each>
std::size_t for_lines(std::string_view text, Each each) {
  std::size_t at = 0;
  std::int64_t line = 1;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', at), ++line) {
    each(text.substr(at, end - at), at, line);
    at = end + 1;
  }
  return at;
}

/// Where the last run of the file begins, by offset and line. A file that is written to again has
/// several; a part that goes on from a checkpoint belongs to the run before it.
struct Start {
  std::size_t offset = 0;
  std::int64_t line = 1;
  std::int64_t earlier = 0;
};

Start last_run(std::string_view text) {
  Start start;
  Start candidate;
  bool open = false;  // a line "run" whose "begin" has not come
  bool any = false;
  for_lines(text, [&](std::string_view line, std::size_t at, std::int64_t number) {
    const std::string_view head = line.substr(0, 64);
    const bool run = head.find("\"event\":\"run\"") != std::string_view::npos;
    const bool begin = head.find("\"event\":\"begin\"") != std::string_view::npos;
    if (!run && !begin) return;
    const auto choose = [&](const Start& from) {
      start = {from.offset, from.line, start.earlier + (any ? 1 : 0)};
      any = true;
    };
    if (run) {
      if (open) choose(candidate);  // it was refused, or killed while it planned
      candidate = {at, number, 0};
      open = true;
      return;
    }
    const bool resumes = count(parsed(line), "step") > 0;
    if (!resumes || !any) choose(open ? candidate : Start{at, number, 0});
    open = false;
  });
  if (open) start = {candidate.offset, candidate.line, start.earlier + (any ? 1 : 0)};
  return start;
}

}  // namespace

std::string_view state_name(RunState state) {
  constexpr std::array<std::string_view, 10> kNames = {"empty",    "refused", "running", "finished",
                                                       "stopped",  "failed",  "killed",  "planned",
                                                       "replayed", "reported"};
  return kNames.at(static_cast<std::size_t>(state));
}

Run read_run_log(std::string_view text, const std::string& name) {
  Run run;
  run.name = name;
  run.about = run.begin = run.end = "null";
  if (const Json report = parsed(text);
      plimsoll::report::text(report, "error") == "out_of_memory") {
    Run whole = as_reported(report);
    whole.name = name;
    return whole;
  }
  const Start start = last_run(text);
  run.earlier = start.earlier;
  const std::string_view rest = text.substr(start.offset);
  RunReader reader(run);
  std::int64_t last = start.line;
  const std::size_t end =
      for_lines(rest, [&](std::string_view line, std::size_t, std::int64_t number) {
        reader.read(line, start.line + number - 1);
        last = start.line + number;
      });
  reader.read_rest(rest.substr(end), last);
  reader.finish();
  return run;
}

std::string Run::verdict() const {
  if (state == RunState::empty) return "there is nothing in this log";
  if (state == RunState::refused) return "refused before the first step";
  if (state == RunState::planned || state == RunState::reported) {
    return ending.substr(0, ending.find('\n'));
  }
  if (state == RunState::replayed && !devices.empty()) {
    const Bytes mapped = devices.front().peak.used;
    return ending.empty()
               ? fmt::format("{} live and {} mapped at the peak",
                             format_bytes(size(parsed(begin), "live_peak")), format_bytes(mapped))
               : ending.substr(0, ending.find('\n'));
  }
  std::string text;
  if (!devices.empty() && devices.front().peak.used > 0) {
    const RunDevice& device = devices.front();
    const Json ended = parsed(end);
    Bytes limit = size(ended, "peak_limit");
    if (limit == 0) limit = size(parsed(begin), "budget");
    if (limit == 0 && !device.memory.empty()) limit = device.memory.back().limit;
    const bool kept = limit == 0 || device.peak.used <= limit;
    text = limit == 0 || limit == kUnlimited
               ? fmt::format("used {}", format_bytes(device.peak.used))
               : fmt::format("{} {} of {}",
                             kept ? "kept" : "exceeded the budget:", format_bytes(device.peak.used),
                             format_bytes(limit));
    const Bytes planned = size(ended, "planned_peak");
    const Bytes measured = size(ended, "measured_peak");
    if (planned > 0) {
      text += fmt::format("; planned peak {}, measured {}", format_bytes(planned),
                          planned == measured ? "the same to the byte" : format_bytes(measured));
    } else if (const Bytes begun = size(parsed(begin), "planned_peak"); begun > 0) {
      text += fmt::format("; planned peak {}", format_bytes(begun));
    }
    return text;
  }
  return steps.empty()
             ? "no step was finished"
             : fmt::format("{} steps; this log has no figures of memory", steps.back().step);
}

}  // namespace plimsoll::report
