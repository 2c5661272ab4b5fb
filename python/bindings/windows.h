#pragma once

// Sizes, strides and paddings of windows, as Python gives them.

#include <nanobind/nanobind.h>

#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/weight_form.h>
#include <plimsoll/nn/window.h>

#include "given.h"

namespace plimsoll::python {

/// One number for both, or (down, across).
inline nn::Pair as_pair(const Given& given, const char* name) {
  const std::vector<std::int64_t> ints = given.integers(name);
  if (ints.size() == 1) return {ints[0]};
  if (ints.size() == 2) return {ints[0], ints[1]};
  wrong_value(given.where(name), given.value(name),
              "it must be one integer, or two: (down, across)");
}

/// The same, or "same".
inline nn::WindowPadding as_window_padding(const Given& given, const char* name) {
  if (PyUnicode_Check(given.value(name).ptr()) != 0) {
    given.choice(name, {"same"});
    return nn::kSame;
  }
  const nn::Pair pair = as_pair(given, name);
  return {pair.down, pair.across};
}

/// One number for both ends, (before, after), "same" or "causal".
inline nn::SequencePadding as_sequence_padding(const Given& given, const char* name) {
  if (PyUnicode_Check(given.value(name).ptr()) != 0) {
    if (given.choice(name, {"same", "causal"}) == 1) return nn::kCausal;
    return nn::kSame;
  }
  const std::vector<std::int64_t> ints = given.integers(name);
  if (ints.size() == 1) return {ints[0]};
  if (ints.size() == 2) return {ints[0], ints[1]};
  wrong_value(given.where(name), given.value(name),
              "it must be one integer, two: (before, after), \"same\" or \"causal\"");
}

inline nn::WeightForm as_weight_form(const Given& given, const char* name) {
  return static_cast<nn::WeightForm>(given.choice(name, {"plain", "weight_norm", "spectral_norm"}));
}

}  // namespace plimsoll::python
