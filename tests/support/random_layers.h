#pragma once

#include <string>
#include <vector>

namespace plimsoll::test {

/// Layers or functions that belong together.
struct RandomFamily {
  std::string name;
  /// Compares twenty random configurations of each, the odd ones among them, with PyTorch's values
  /// and gradients, in f32, bf16 and f16, on the device of RecordedOn.
  void (*check)();
};

/// All that tests/nn/record/record_random.py records.
const std::vector<RandomFamily>& random_families();

}  // namespace plimsoll::test
