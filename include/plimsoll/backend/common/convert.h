#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <plimsoll/backend/common/inline.h>

namespace plimsoll::backend {

/// What a cast gives: the nearest that To has, toward zero between two integers; what is NaN is 0
/// as an integer, and everything but zero is true. From and To are bool, integers, float or double.
template <typename To, typename From>
PLIMSOLL_INLINE To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    // One above the largest: a power of two, which floats have exactly.
    constexpr auto above = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);
    constexpr auto below = static_cast<From>(std::numeric_limits<To>::min());
    if (x != x) return To{0};
    if (x >= above) return std::numeric_limits<To>::max();
    if (x <= below) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    // NOLINTBEGIN(bugprone-signed-char-misuse): i8 is a number, not a character.
    constexpr auto low = static_cast<std::int64_t>(std::numeric_limits<To>::min());
    constexpr auto high = static_cast<std::int64_t>(std::numeric_limits<To>::max());
    const auto wide = static_cast<std::int64_t>(x);
    // NOLINTEND(bugprone-signed-char-misuse)
    return static_cast<To>(wide < low ? low : (wide > high ? high : wide));
  }
}

}  // namespace plimsoll::backend
