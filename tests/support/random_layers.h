#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace plimsoll::test {

/// Layers or functions that belong together.
struct RandomFamily {
  std::string name;
  /// Compares twenty random configurations of each, the odd ones among them, with PyTorch's values
  /// and gradients, in f32, bf16 and f16, on the device of RecordedOn.
  void (*check)();
  /// False where there are no kernels for GPUs.
  bool on_gpus = true;
};

/// For gtest, which would print its bytes.
inline void PrintTo(const RandomFamily& family, std::ostream* out) { *out << family.name; }

/// All that record_random.py and record_random_functions.py in tests/nn/record record.
const std::vector<RandomFamily>& random_families();

}  // namespace plimsoll::test
