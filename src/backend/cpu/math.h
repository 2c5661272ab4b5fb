#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <plimsoll/backend/common/polynomials.h>
#include <plimsoll/base/half.h>

#include "backend/cpu/clones.h"

// Mathematics of f32 for loops that the compiler turns into vectors: every function is without
// branches and calls, so that it costs about what its additions and multiplications cost. Within 2
// units in the last place of the true value unless it says otherwise; NaN, infinities and zeros as
// in <cmath>. tests/backend/math_test.cpp holds them to it.
//
//   PLIMSOLL_CLONES void softplus(const float* PLIMSOLL_RESTRICT x, float* PLIMSOLL_RESTRICT y, ...
//     for (int i = 0; i < kBlock; ++i) y[i] = math::log1p(math::exp(x[i]));
//
// Bits of a result may depend on the instruction set (fused multiply-adds), and in the last
// elements of a loop whose length is not a constant on how the compiler treats its tail. Where bits
// must not depend on where an element lies, a loop has a constant length and tails are padded: see
// chunks.h.

// What is called in the inner loop of such a function is PLIMSOLL_INLINE: it must become part of
// it, or it would be compiled for the default instruction set.

#define PLIMSOLL_RESTRICT __restrict

namespace plimsoll::cpu::math {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

PLIMSOLL_INLINE float abs(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
}
/// The first with the sign of the second.
PLIMSOLL_INLINE float copysign(float magnitude, float sign) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(magnitude) & 0x7fffffffU) |
                              (std::bit_cast<std::uint32_t>(sign) & 0x80000000U));
}

/// Adding and taking away 1.5 * 2^23 rounds to an integer, which is then in the low bits.
inline constexpr float kRounder = 12582912.0F;

PLIMSOLL_INLINE float exp(float x) {
  x = x > 89.0F ? 89.0F : x;
  x = x < -104.0F ? -104.0F : x;
  const float shifted = x * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.991797027e-04F;
  p = p * r + 1.394618977e-03F;
  p = p * r + 8.333265168e-03F;
  p = p * r + 4.166626826e-02F;
  p = p * r + 1.666666686e-01F;
  p = p * r + 5.000000078e-01F;
  p = (p * r) * r + r + 1.0F;
  // 2^n in two halves, so that neither overflows where the result does not.
  const std::uint32_t k = std::bit_cast<std::uint32_t>(shifted) - 0x4b400000U;
  const auto half = static_cast<std::uint32_t>(static_cast<std::int32_t>(k) >> 1);
  const float a = std::bit_cast<float>((half + 127U) << 23);
  const float b = std::bit_cast<float>((k - half + 127U) << 23);
  return p * a * b;
}

/// exp(x) - 1, also where that is tiny.
PLIMSOLL_INLINE float expm1(float x) {
  float p = 2.269719619e-05F;
  p = p * x + 1.995008382e-04F;
  p = p * x + 1.389903534e-03F;
  p = p * x + 8.333217334e-03F;
  p = p * x + 4.166652936e-02F;
  p = p * x + 1.666666695e-01F;
  p = p * x + 5.000000046e-01F;
  const float near = (p * x) * x + x;
  const float far = exp(x) - 1.0F;
  return x > -0.7F && x < 0.5F ? near : far;
}

PLIMSOLL_INLINE float log(float x) {
  const bool tiny = x < 1.17549435e-38F;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(tiny ? x * 8388608.0F : x);
  // The mantissa in [sqrt(1/2), sqrt(2)).
  const std::uint32_t above = bits - 0x3f3504f3U;
  const float n =
      static_cast<float>(static_cast<std::int32_t>(above) >> 23) - (tiny ? 23.0F : 0.0F);
  const float f = std::bit_cast<float>((above & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
  float result = backend::log_of_parts(f, n);
  result = x == kInfinity ? x : result;
  result = x == 0.0F ? -kInfinity : result;
  return x >= 0.0F ? result : std::numeric_limits<float>::quiet_NaN();
}

/// log(1 + x), also where x is tiny.
PLIMSOLL_INLINE float log1p(float x) {
  const float u = 1.0F + x;
  const float lost = x - (u - 1.0F);
  const float result = log(u) + lost / u;
  return u == kInfinity || u == 0.0F || u == 1.0F ? (u == 1.0F ? x : log(u)) : result;
}

PLIMSOLL_INLINE float tanh(float x) {
  const float s = x * x;
  float p = 2.147536867e-03F;
  p = p * s - 8.182673862e-03F;
  p = p * s + 2.170296711e-02F;
  p = p * s - 5.394720427e-02F;
  p = p * s + 1.333320976e-01F;
  p = p * s - 3.333333091e-01F;
  const float near = (p * s) * x + x;
  const float t = abs(x);
  const float far = copysign(1.0F - 2.0F / (exp(t + t) + 1.0F), x);
  const float result = t < 0.625F ? near : far;
  return x != x ? x : result;
}

/// 1 / (1 + exp(-x))
PLIMSOLL_INLINE float sigmoid(float x) { return 1.0F / (1.0F + exp(-x)); }

PLIMSOLL_INLINE float erf(float x) {
  const float s = x * x;
  float near = 8.345224910e-05F;
  near = near * s - 8.137437568e-04F;
  near = near * s + 5.200634306e-03F;
  near = near * s - 2.685927078e-02F;
  near = near * s + 1.128369394e-01F;
  near = near * s - 3.761263370e-01F;
  near = near * s + 1.283791666e-01F;
  near = near * x + x;
  const float t = abs(x);
  const float bounded = t > 4.0F ? 4.0F : t;
  // log(1 - erf(t)), which is nearly a parabola.
  float p = -4.806475566e-06F;
  p = p * bounded + 4.399996419e-05F;
  p = p * bounded + 5.751305622e-05F;
  p = p * bounded - 2.951671675e-03F;
  p = p * bounded + 2.270829826e-02F;
  p = p * bounded - 1.052944447e-01F;
  p = p * bounded - 6.356092747e-01F;
  p = p * bounded - 1.128555123e+00F;
  const float far = copysign(1.0F - exp(p * bounded), x);
  return t < 0.925F ? near : far;
}

/// The sine and the cosine of a turn's `x`-th part, for x in [0, 1].
PLIMSOLL_INLINE void sincos_turn(float x, float& sine, float& cosine) {
  const float quarters = x * 4.0F;
  const float shifted = quarters + kRounder;
  const std::uint32_t quadrant = std::bit_cast<std::uint32_t>(shifted);
  const float r = quarters - (shifted - kRounder);
  const float a = backend::sine_of_quarters(r);
  const float b = backend::cosine_of_quarters(r);
  const bool swapped = (quadrant & 1U) != 0;
  const float sin_part = swapped ? b : a;
  const float cos_part = swapped ? a : b;
  const std::uint32_t sin_sign = (quadrant & 2U) << 30;
  const std::uint32_t cos_sign = ((quadrant + 1U) & 2U) << 30;
  sine = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sin_part) ^ sin_sign);
  cosine = std::bit_cast<float>(std::bit_cast<std::uint32_t>(cos_part) ^ cos_sign);
}

// The conversions of base/half.h without branches: the same bits.

PLIMSOLL_INLINE float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
PLIMSOLL_INLINE std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
}

PLIMSOLL_INLINE float from_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffU;
  const std::uint32_t normal =
      (magnitude << 13) + (magnitude >= 0x7c00U ? (112U + 112U) << 23 : 112U << 23);
  // Denormals count units of 2^-24: the adder normalises them.
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 5.9604644775e-8F;
  const std::uint32_t value = magnitude < 0x400U ? std::bit_cast<std::uint32_t>(small) : normal;
  return std::bit_cast<float>(value | (static_cast<std::uint32_t>(half & 0x8000U) << 16));
}
PLIMSOLL_INLINE std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  // Adding 0.5 puts the bits that a denormal half keeps at the low end, rounded.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x1ffU);
  std::uint32_t result = magnitude < 0x38800000U ? small : normal;
  result = magnitude >= 0x47800000U ? 0x7c00U : result;
  result = magnitude > 0x7f800000U ? nan : result;
  return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000U));
}

// f64 is for tests and references: the C library's.

PLIMSOLL_INLINE double abs(double x) { return std::abs(x); }
PLIMSOLL_INLINE double exp(double x) { return std::exp(x); }
PLIMSOLL_INLINE double expm1(double x) { return std::expm1(x); }
PLIMSOLL_INLINE double log(double x) { return std::log(x); }
PLIMSOLL_INLINE double log1p(double x) { return std::log1p(x); }
PLIMSOLL_INLINE double tanh(double x) { return std::tanh(x); }
PLIMSOLL_INLINE double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
PLIMSOLL_INLINE double erf(double x) { return std::erf(x); }

}  // namespace plimsoll::cpu::math
