#pragma once

#include <cstdio>

#include <plimsoll/train/callbacks.h>

namespace plimsoll::report {

struct ProgressOptions {
  enum class Style : std::uint8_t { automatic, bar, lines };
  /// automatic: a bar if `out` is a terminal.
  Style style = Style::automatic;
  std::FILE* out = stderr;
};

/// Shows a run while it goes on: step, elements per second, loss, memory used of the budget, time
/// left. A bar is drawn at most ten times a second; lines are written at the end of epochs and
/// about every ten seconds.
train::Callback progress(const ProgressOptions& options = {});

}  // namespace plimsoll::report
