#include <plimsoll/ops/operators.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>

namespace plimsoll {
namespace {

/// Throws unless `number` can be one of `x`'s dtype.
void require_fits(const Tensor& x, const ops::Scalar& number, const char* who) {
  if (ops::has_number(x.dtype(), number)) return;
  throw InvalidArgument(
      fmt::format("[{}] {} does not fit the dtype of {}; cast the tensor to a dtype that has it",
                  who, ops::to_string(number), x.type().to_string()));
}

/// Whether `number` as a double is the same number of `x`'s dtype.
bool is_exact(const Tensor& x, const ops::Scalar& number) {
  return !is_integer(x.dtype()) || !number.is_large();
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

Tensor number_like(const Tensor& like, const Scalar& number) {
  require_fits(like, number, "compare");
  return full_like_type(like, {like.dtype(), Shape{}}, number);
}

Tensor add_number(const Tensor& a, const Scalar& b) {
  require_fits(a, b, "add");
  return is_exact(a, b) ? shift(a, b.number()) : add(a, number_like(a, b));
}

Tensor sub_number(const Tensor& a, const Scalar& b) {
  require_fits(a, b, "sub");
  // The negative of a number need not be one of an unsigned dtype.
  return is_integer(a.dtype()) ? sub(a, number_like(a, b)) : shift(a, -b.number());
}

Tensor sub_from_number(const Scalar& a, const Tensor& b) {
  require_fits(b, a, "sub");
  return sub(number_like(b, a), b);
}

Tensor mul_number(const Tensor& a, const Scalar& b) {
  require_fits(a, b, "mul");
  return is_exact(a, b) ? scale(a, b.number()) : mul(a, number_like(a, b));
}

Tensor div_number(const Tensor& a, const Scalar& b) {
  const Tensor x = divisible(a);
  // By powers of two, which most scales are, multiplying is the same to the bit.
  int exponent = 0;
  const bool exact = std::abs(std::frexp(b.number(), &exponent)) == 0.5 && std::abs(exponent) < 14;
  return exact ? scale(x, 1 / b.number()) : div(x, number_like(x, b));
}

Tensor div_of_number(const Scalar& a, const Tensor& b) {
  const Tensor x = divisible(b);
  return div(number_like(x, a), x);
}

}  // namespace ops
}  // namespace plimsoll
