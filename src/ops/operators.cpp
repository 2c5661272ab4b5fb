#include <plimsoll/ops/operators.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>

namespace plimsoll {
namespace {

/// The lowest and the highest value of an integer dtype, as far as doubles count one by one.
std::pair<double, double> range_of(DType dtype) {
  const double bits = 8.0 * static_cast<double>(dtype_size(dtype));
  const bool is_signed = dtype != DType::u8 && dtype != DType::u16;
  const double span = std::exp2(is_signed ? bits - 1 : bits);
  return {std::max(is_signed ? -span : 0.0, -0x1p53), std::min(span - 1, 0x1p53)};
}

/// Throws unless `number` can be one of `x`'s dtype.
void require_fits(const Tensor& x, double number, const char* who) {
  const DType dtype = x.dtype();
  if (!is_integer(dtype)) return;
  const auto [low, high] = range_of(dtype);
  if (number != std::nearbyint(number) || number < low || number > high) {
    throw InvalidArgument(
        fmt::format("[{}] {} does not fit the dtype of {}; cast the tensor to a dtype that has it",
                    who, number, x.type().to_string()));
  }
}

Tensor divisible(const Tensor& x) { return is_integer(x.dtype()) ? ops::cast(x, DType::f32) : x; }

}  // namespace

Tensor operator-(const Tensor& x) { return ops::neg(x); }
Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) {
  // Of different dtypes they are refused as they are.
  return a.dtype() == b.dtype() ? ops::div(divisible(a), divisible(b)) : ops::div(a, b);
}

Tensor operator==(const Tensor& a, const Tensor& b) { return ops::equal(a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return ops::not_equal(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return ops::less(a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return ops::less_equal(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return ops::greater(a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return ops::greater_equal(a, b); }

namespace ops {

Tensor number_like(const Tensor& like, double number) {
  require_fits(like, number, "compare");
  return full_like_type(like, {like.dtype(), Shape{}}, number);
}

Tensor add_number(const Tensor& a, double b) {
  require_fits(a, b, "add");
  return shift(a, b);
}

Tensor sub_number(const Tensor& a, double b) {
  require_fits(a, b, "sub");
  // The negative of a number need not be one of an unsigned dtype.
  return is_integer(a.dtype()) ? sub(a, number_like(a, b)) : shift(a, -b);
}

Tensor sub_from_number(double a, const Tensor& b) {
  require_fits(b, a, "sub");
  return sub(number_like(b, a), b);
}

Tensor mul_number(const Tensor& a, double b) {
  require_fits(a, b, "mul");
  return scale(a, b);
}

Tensor div_number(const Tensor& a, double b) {
  const Tensor x = divisible(a);
  // By powers of two, which most scales are, multiplying is the same to the bit.
  int exponent = 0;
  const bool exact = std::abs(std::frexp(b, &exponent)) == 0.5 && std::abs(exponent) < 14;
  return exact ? scale(x, 1 / b) : div(x, number_like(x, b));
}

Tensor div_of_number(double a, const Tensor& b) {
  const Tensor x = divisible(b);
  return div(number_like(x, a), x);
}

}  // namespace ops
}  // namespace plimsoll
