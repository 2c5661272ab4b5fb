#include <plimsoll/ops/scalar.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace plimsoll::ops {

bool has_number(DType dtype, const Scalar& number) {
  if (dtype == DType::boolean) return number.number() == 0 || number.number() == 1;
  if (!is_integer(dtype)) return true;
  const std::size_t bits = 8 * dtype_size(dtype);
  const bool is_signed = dtype != DType::u8 && dtype != DType::u16;
  // The highest of 64 bits has no bit above it.
  const std::int64_t high = bits == 64 ? std::numeric_limits<std::int64_t>::max()
                                       : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t low = is_signed ? -high - 1 : 0;
  if (const auto whole = number.whole()) return low <= *whole && *whole <= high;
  const double value = number.number();
  return value == std::nearbyint(value) && value >= std::max(static_cast<double>(low), -0x1p53) &&
         value <= std::min(static_cast<double>(high), 0x1p53);
}

std::string to_string(const Scalar& number) {
  if (const auto whole = number.whole()) return fmt::format("{}", *whole);
  return fmt::format("{}", number.number());
}

}  // namespace plimsoll::ops
