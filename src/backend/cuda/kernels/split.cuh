#pragma once

#include <cstdint>

namespace plimsoll::cuda {

/// Quotient and remainder, in 32 bits where both fit.
struct Split {
  std::int64_t quotient;
  std::int64_t remainder;
};
__device__ __forceinline__ Split split(std::int64_t value, std::int64_t by) {
  if (((value | by) >> 32) == 0) {
    const auto v = static_cast<std::uint32_t>(value);
    const auto b = static_cast<std::uint32_t>(by);
    const std::uint32_t q = v / b;
    return {q, v - q * b};
  }
  const std::int64_t q = value / by;
  return {q, value - q * by};
}

}  // namespace plimsoll::cuda
