#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::data {

/// 1,797 handwritten digits that come with the library, for examples and tests: "Optical
/// Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning Repository,
/// CC BY 4.0.
struct Digits {
  Tensor images;  ///< u8 [1797,8,8], from 0 to 16
  Tensor labels;  ///< i64 [1797], from 0 to 9
};

/// Tagged `input`. Throws OutOfMemory.
Digits load_digits(const Device& device);

}  // namespace plimsoll::data
