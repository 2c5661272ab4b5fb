#pragma once

#include <cstdint>
#include <vector>

#include <plimsoll/base/dtype.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::testing {

struct DigitsRun {
  double accuracy = 0;        ///< of the pictures that were not trained on
  std::vector<float> losses;  ///< of each step
};

/// Trains lenet on the digits that come with the library, eagerly, and measures it on every fifth
/// picture, which it has not seen.
DigitsRun train_digits(DType compute, int epochs, std::uint64_t seed);

}  // namespace plimsoll::testing
