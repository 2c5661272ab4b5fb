#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

namespace plimsoll::ops {

/// A number as an integer: the nearest that T has, toward zero between two; 0 for NaN.
template <std::integral T>
constexpr T nearest_integer(double value) {
  if (value != value) return T{0};
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

/// A whole number of at most 2^53 as T, which for integers wraps around as their arithmetic does.
template <typename T>
constexpr T wrapped(double value) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace plimsoll::ops
