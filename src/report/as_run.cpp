#include <plimsoll/report/as_run.h>

#include <fmt/format.h>

#include "report/reports_json.h"

namespace plimsoll::report {

Run as_run(const OutOfMemoryReport& report) { return as_reported(parsed(report.to_json())); }

Run as_run(const train::LeakReport& report) {
  Run run;
  run.name = "leak";
  run.about = run.begin = run.end = "null";
  run.state = RunState::reported;
  run.leak = dumped(checked_leak(parsed(report.to_json())));
  run.ending = fmt::format("{} of {} '{}' in {} only ever grows", format_bytes(report.bytes),
                           tag_name(report.tag), report.label, report.budget);
  return run;
}

}  // namespace plimsoll::report
