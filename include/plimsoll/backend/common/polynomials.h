#pragma once

#include <cstdint>

#include <plimsoll/backend/common/inline.h>

// The polynomials behind random_normal, so that every backend draws the same numbers but for the
// last bit: compilers choose where multiplications and additions are one.

namespace plimsoll::backend {

/// log((1 + f) * 2^n), for 1 + f in [sqrt(1/2), sqrt(2)).
PLIMSOLL_INLINE float log_of_parts(float f, float n) {
  float p = 6.746601234e-02F;
  p = p * f - 1.167564127e-01F;
  p = p * f + 1.188817462e-01F;
  p = p * f - 1.240559143e-01F;
  p = p * f + 1.421955091e-01F;
  p = p * f - 1.666799567e-01F;
  p = p * f + 2.000211873e-01F;
  p = p * f - 2.500000960e-01F;
  p = p * f + 3.333331260e-01F;
  const float square = f * f;
  const float small = p * f * square - n * 2.12194440e-4F - 0.5F * square;
  return (f + small) + n * 0.693359375F;
}

/// The sine of `r` quarters of a turn, for r in [-1/2, 1/2].
PLIMSOLL_INLINE float sine_of_quarters(float r) {
  const float s = r * r;
  float a = 1.582067495e-04F;
  a = a * s - 4.681266479e-03F;
  a = a * s + 7.969258276e-02F;
  a = a * s - 6.459640961e-01F;
  return (a * s + 1.570796327e+00F) * r;
}

/// Its cosine.
PLIMSOLL_INLINE float cosine_of_quarters(float r) {
  const float s = r * r;
  float b = -2.485706040e-05F;
  b = b * s + 9.191658954e-04F;
  b = b * s - 2.086346903e-02F;
  b = b * s + 2.536695073e-01F;
  b = b * s - 1.233700550e+00F;
  return b * s + 1.0F;
}

/// A random word as a number in [0, 1), one of 2^24 equally spaced.
PLIMSOLL_INLINE float unit(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * (1.0F / 16777216.0F);
}

}  // namespace plimsoll::backend
