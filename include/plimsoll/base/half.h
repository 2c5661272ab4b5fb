#pragma once

#include <bit>
#include <cstdint>

namespace plimsoll {

/// The bits of an IEEE binary16 nearest to `value`, ties to even. Too large becomes infinity, NaN
/// stays NaN, small values become denormals or zero; the sign is kept throughout.
constexpr std::uint16_t float_to_half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    // Keep what fits of the payload, and set the quiet bit so that it cannot become infinity.
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x1ffU));
  }
  if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Below 2^-14 the result counts units of 2^-24.
    const int exponent = static_cast<int>(magnitude >> 23);
    if (exponent < 102) return sign;
    const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    const int shift = 126 - exponent;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1);
    const std::uint32_t half = 1U << (shift - 1);
    std::uint32_t result = mantissa >> shift;
    if (rest > half || (rest == half && (result & 1U) != 0)) ++result;
    return static_cast<std::uint16_t>(sign | result);
  }
  // Rounding may carry into the exponent, up to infinity, which is what it should do.
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

/// The value of an IEEE binary16; exact.
constexpr float half_bits_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  std::uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  if (mantissa == 0) return std::bit_cast<float>(sign);
  std::uint32_t biased = 113;
  while ((mantissa & 0x400U) == 0) {
    mantissa <<= 1;
    --biased;
  }
  return std::bit_cast<float>(sign | (biased << 23) | ((mantissa & 0x3ffU) << 13));
}

/// The bits of the bfloat16 nearest to `value`, ties to even; NaN stays NaN.
constexpr std::uint16_t float_to_bfloat_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// The value of a bfloat16; exact.
constexpr float bfloat_bits_to_float(std::uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat) << 16);
}

/// An IEEE binary16, for storage: it converts from and to float and does no arithmetic itself.
/// Equality is that of the bits.
struct Float16 {
  std::uint16_t bits = 0;

  constexpr Float16() = default;
  constexpr explicit Float16(float value) : bits(float_to_half_bits(value)) {}
  static constexpr Float16 from_bits(std::uint16_t bits) {
    Float16 result;
    result.bits = bits;
    return result;
  }
  constexpr explicit operator float() const { return half_bits_to_float(bits); }
  constexpr bool operator==(const Float16&) const = default;
};

/// A bfloat16 (the upper half of a float), for storage like Float16.
struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(float_to_bfloat_bits(value)) {}
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 result;
    result.bits = bits;
    return result;
  }
  constexpr explicit operator float() const { return bfloat_bits_to_float(bits); }
  constexpr bool operator==(const BFloat16&) const = default;
};

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);

}  // namespace plimsoll
