#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <plimsoll/report/run.h>

namespace plimsoll::report {

/// A run as lines of at most `columns`: state and progress, the loss as a little curve, memory
/// against the budget, who holds what, what happened last. Text of the run's is printable, and what
/// is too long is cut.
std::vector<std::string> watch_screen(const Run& run, std::size_t columns);

/// The same in one line, for those without a terminal.
std::string watch_line(const Run& run);

}  // namespace plimsoll::report
