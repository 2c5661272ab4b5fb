#pragma once

#include <string>

#include <plimsoll/base/bytes.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/memory/trace.h>
#include <plimsoll/report/run.h>
#include <plimsoll/train/leak_gate.h>

namespace plimsoll::report {

// What is drawn as a run is:
//
//   catch (const OutOfMemory& error) {
//     report::write_html(report::as_run(error.report()), "refused.html");
//   }

/// Who held what when memory was refused, against the limit, and what would help.
Run as_run(const OutOfMemoryReport& report);

/// What leaks, and how it grew.
Run as_run(const train::LeakReport& report);

struct ReplayPictureOptions {
  std::string name = "trace";
  Bytes limit = kUnlimited;
  Bytes page_size = MiB(2);
  int passes = 1;
};

/// A trace as it goes through an arena: what is live and mapped after each operation, and where
/// each block lies. No memory is taken. A trace that exceeds the limit is drawn up to there, with
/// the refusal. Throws InvalidArgument for options that make no sense.
Run as_run(const Trace& trace, const ReplayPictureOptions& options);

}  // namespace plimsoll::report
