#pragma once

#include <cmath>
#include <cstdint>

#include <plimsoll/backend/common/inline.h>
#include <plimsoll/ops/packed_update.h>

// Moments of 8 bits, as adam_8bit_update keeps them. The scale of a block is the largest size in
// it. An element is a number of steps, and its share of the scale is their square (of the first
// moment) or their fourth power (of the second), so that steps are small near 0.
//
// A second moment moves by a thousandth of the way in a step of training, which is less than half
// the distance to the next number: rounded to the nearest it would stay where it is, for ever. So
// it is rounded up as often as it lies close to the number above, and is right in the mean. When
// that happens is a function of the element and the step: multiples of an irrational number, from a
// place that differs from element to element, visit every part of [0, 1) as evenly as can be.

namespace plimsoll::packed {

using ops::kMomentBlock;
inline constexpr float kFirstSteps = 127;   ///< of i8, on either side of 0
inline constexpr float kSecondSteps = 255;  ///< of u8

/// Where the multiples of an element begin.
PLIMSOLL_INLINE std::uint32_t start_of(std::uint32_t element) {
  std::uint32_t h = element * 0x9e3779b1U + 0x7f4a7c15U;
  h = (h ^ (h >> 16)) * 0x7feb352dU;
  h = (h ^ (h >> 15)) * 0x846ca68bU;
  return h ^ (h >> 16);
}
/// In [0, 1).
PLIMSOLL_INLINE float fraction_of(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 8)) * 0x1p-24F;
}
/// Of multiples of the square root of 2 for the first moment, of the golden ratio for the second:
/// the two of an element are not rounded alike.
PLIMSOLL_INLINE float first_fraction(std::uint32_t start, std::uint32_t step) {
  return fraction_of(start + step * 0x6a09e667U);
}
PLIMSOLL_INLINE float second_fraction(std::uint32_t start, std::uint32_t step) {
  return fraction_of((start << 16 | start >> 16) + step * 0x9e3779b9U);
}

/// At most `most`, which is also what becomes of NaN.
PLIMSOLL_INLINE float at_most(float x, float most) { return x < most ? x : most; }
PLIMSOLL_INLINE float without_fraction(float x) {
  return static_cast<float>(static_cast<std::int32_t>(x));
}

/// How many steps a size is: of 0 to `scale`, the block's.
PLIMSOLL_INLINE float first_steps(float size, float scale, float fraction) {
  const float share = scale > 0 ? size / scale : 0.0F;
  const float below = without_fraction(at_most(std::sqrt(share) * kFirstSteps, kFirstSteps));
  const float way = (share * (kFirstSteps * kFirstSteps) - below * below) / (2 * below + 1);
  return at_most(below + (fraction < way ? 1.0F : 0.0F), kFirstSteps);
}
/// `steps` has the sign.
PLIMSOLL_INLINE float first_value(float steps, float scale) {
  const float root = steps * (1 / kFirstSteps);
  return root * std::fabs(root) * scale;
}

/// Never 0 where x is not: a step of training divides by its root.
PLIMSOLL_INLINE float second_steps(float x, float scale, float fraction) {
  constexpr float kAll = kSecondSteps * kSecondSteps * kSecondSteps * kSecondSteps;
  const float share = scale > 0 ? x / scale : 0.0F;
  const float root = std::sqrt(std::sqrt(share));
  const float below = without_fraction(at_most(root * kSecondSteps, kSecondSteps));
  const float square = below * below;
  const float next = (below + 1) * (below + 1);
  const float way = (share * kAll - square * square) / (next * next - square * square);
  const float steps = at_most(below + (fraction < way ? 1.0F : 0.0F), kSecondSteps);
  const float least = x > 0 ? 1.0F : 0.0F;
  return steps > least ? steps : least;
}
PLIMSOLL_INLINE float second_value(float steps, float scale) {
  const float root = steps * (1 / kSecondSteps);
  return (root * root) * (root * root) * scale;
}

}  // namespace plimsoll::packed
