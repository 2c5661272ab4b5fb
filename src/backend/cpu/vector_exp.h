#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plimsoll::cpu {

/// exp(x) within 2 units in the last place, without a call, so that loops over it are vectorised.
/// 0 below -87.3, infinity above 88.7; NaN stays NaN.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x > 88.8F ? 88.8F : (x < -87.3F ? -87.3F : x);
  const float shifted = clamped * kLog2E + kRound;
  const float whole = shifted - kRound;
  const float rest = (clamped - whole * kLn2High) - whole * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * rest + 1.3981999507e-3F;
  p = p * rest + 8.3334519073e-3F;
  p = p * rest + 4.1665795894e-2F;
  p = p * rest + 1.6666665459e-1F;
  p = p * rest + 5.0000001201e-1F;
  p = p * (rest * rest) + rest + 1.0F;
  // In two steps, as 2^128 is no float.
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const float half = std::bit_cast<float>(((exponent >> 1) + 127) << 23);
  const float other = std::bit_cast<float>((exponent - (exponent >> 1) + 127) << 23);
  const float result = p * half * other;
  return x < -87.3F ? 0.0F : (x == x ? result : x);
}
inline double fast_exp(double x) { return std::exp(x); }

}  // namespace plimsoll::cpu
