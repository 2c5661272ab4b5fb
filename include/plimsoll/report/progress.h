#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include <plimsoll/train/callbacks.h>

namespace plimsoll::report {

struct ProgressOptions {
  enum class Style : std::uint8_t { automatic, bar, lines };
  /// automatic: a bar if `out` is a terminal that can redraw a line (TERM is neither unset nor
  /// "dumb").
  Style style = Style::automatic;
  std::FILE* out = stderr;
  /// What an element is called in the plural. Empty: tokens, images or examples, by what the model
  /// is fed; an element of a language model counts as its tokens.
  std::string unit = {};
};

/// Shows a run while it goes on: step, loss, speed, memory used of the budget, time left. A bar is
/// drawn at most ten times a second, within the width that the terminal has then; lines are written
/// at the end of epochs and about every ten seconds.
train::Callback progress(const ProgressOptions& options = {});

}  // namespace plimsoll::report
