#pragma once

#include <cstdint>
#include <type_traits>

#include <plimsoll/ops/scalar.h>
#include <plimsoll/tensor/tensor.h>

// Arithmetic and comparisons as one writes them, element by element: `(x - mean) / 255`, `-x`,
// `x > 0`. They are the ops of ops/elementwise.h, broadcast as those do, and go on tapes and into
// traces. They stand beside Tensor, so that no `using` is needed to find them.
//
// Both tensors must have the same dtype; use ops::cast. Numbers are weak: they take the tensor's
// dtype, and one that does not fit it (1.5 for i32, 300 for u8) is an InvalidArgument. Integers are
// exact, whatever their size. Integers divided give f32; ops::div has the division towards zero.

namespace plimsoll {

/// What stands beside a tensor as a number: not bool, not a character.
template <typename T>
concept Number = std::is_floating_point_v<T> ||
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
     !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
     !std::is_same_v<T, char32_t>);

Tensor operator-(const Tensor& x);

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);

/// bool tensors.
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);

namespace ops {

// What the operators with a number are; `b` is one of the tensor's dtype, see above.
Tensor add_number(const Tensor& a, const Scalar& b);
Tensor sub_number(const Tensor& a, const Scalar& b);
Tensor sub_from_number(const Scalar& a, const Tensor& b);
Tensor mul_number(const Tensor& a, const Scalar& b);
Tensor div_number(const Tensor& a, const Scalar& b);
Tensor div_of_number(const Scalar& a, const Tensor& b);
/// `number` as a tensor without dimensions, of the dtype of `like` and where that is.
Tensor number_like(const Tensor& like, const Scalar& number);

}  // namespace ops

template <Number N>
Tensor operator+(const Tensor& a, N b) {
  return ops::add_number(a, b);
}
template <Number N>
Tensor operator+(N a, const Tensor& b) {
  return ops::add_number(b, a);
}
template <Number N>
Tensor operator-(const Tensor& a, N b) {
  return ops::sub_number(a, b);
}
template <Number N>
Tensor operator-(N a, const Tensor& b) {
  return ops::sub_from_number(a, b);
}
template <Number N>
Tensor operator*(const Tensor& a, N b) {
  return ops::mul_number(a, b);
}
template <Number N>
Tensor operator*(N a, const Tensor& b) {
  return ops::mul_number(b, a);
}
template <Number N>
Tensor operator/(const Tensor& a, N b) {
  return ops::div_number(a, b);
}
template <Number N>
Tensor operator/(N a, const Tensor& b) {
  return ops::div_of_number(a, b);
}

template <Number N>
Tensor operator==(const Tensor& a, N b) {
  return a == ops::number_like(a, b);
}
template <Number N>
Tensor operator==(N a, const Tensor& b) {
  return ops::number_like(b, a) == b;
}
template <Number N>
Tensor operator!=(const Tensor& a, N b) {
  return a != ops::number_like(a, b);
}
template <Number N>
Tensor operator!=(N a, const Tensor& b) {
  return ops::number_like(b, a) != b;
}
template <Number N>
Tensor operator<(const Tensor& a, N b) {
  return a < ops::number_like(a, b);
}
template <Number N>
Tensor operator<(N a, const Tensor& b) {
  return ops::number_like(b, a) < b;
}
template <Number N>
Tensor operator<=(const Tensor& a, N b) {
  return a <= ops::number_like(a, b);
}
template <Number N>
Tensor operator<=(N a, const Tensor& b) {
  return ops::number_like(b, a) <= b;
}
template <Number N>
Tensor operator>(const Tensor& a, N b) {
  return a > ops::number_like(a, b);
}
template <Number N>
Tensor operator>(N a, const Tensor& b) {
  return ops::number_like(b, a) > b;
}
template <Number N>
Tensor operator>=(const Tensor& a, N b) {
  return a >= ops::number_like(a, b);
}
template <Number N>
Tensor operator>=(N a, const Tensor& b) {
  return ops::number_like(b, a) >= b;
}

}  // namespace plimsoll
