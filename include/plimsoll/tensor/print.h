#pragma once

#include <iosfwd>

#include <plimsoll/tensor/tensor.h>

// `std::cout << x`, for programs.

namespace plimsoll {

/// Tensor::to_string(), also of a variable.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
/// "[2,3]"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace plimsoll
