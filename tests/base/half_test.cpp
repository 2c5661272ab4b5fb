#include <plimsoll/base/half.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

static_assert(float_to_half_bits(1.0F) == 0x3c00);
static_assert(half_bits_to_float(0x3c00) == 1.0F);
static_assert(float_to_bfloat_bits(1.0F) == 0x3f80);

/// The nearest of all finite values of a 16-bit format by exhaustive comparison in double, ties to
/// even bits; `limit` is the first magnitude that rounds to infinity.
template <typename Decode>
std::uint16_t nearest(float value, Decode decode, double limit, std::uint16_t infinity) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= limit) return static_cast<std::uint16_t>(sign | infinity);
  // Magnitudes grow with their bits.
  std::uint16_t low = 0;
  auto high = static_cast<std::uint16_t>(infinity - 1);
  while (low < high) {
    const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
    if (static_cast<double>(decode(middle)) <= magnitude) {
      low = middle;
    } else {
      high = static_cast<std::uint16_t>(middle - 1);
    }
  }
  const auto above = static_cast<std::uint16_t>(low + 1);
  if (above < infinity) {
    const double down = magnitude - static_cast<double>(decode(low));
    const double up = static_cast<double>(decode(above)) - magnitude;
    if (up < down || (up == down && (low & 1) != 0)) low = above;
  }
  return static_cast<std::uint16_t>(sign | low);
}

TEST(Half, EveryValueSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_bits_to_float(half);
    if ((half & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(float_to_half_bits(value), half | 0x200) << bits;
    } else {
      EXPECT_EQ(float_to_half_bits(value), half) << bits;
    }
  }
}

TEST(BFloat, EveryValueSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto bfloat = static_cast<std::uint16_t>(bits);
    const float value = bfloat_bits_to_float(bfloat);
    if ((bfloat & 0x7fff) > 0x7f80) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(float_to_bfloat_bits(value), bfloat | 0x40) << bits;
    } else {
      EXPECT_EQ(float_to_bfloat_bits(value), bfloat) << bits;
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(half_bits_to_float(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(half_bits_to_float(0x03ff), std::ldexp(1023.0F, -24));
  EXPECT_EQ(half_bits_to_float(0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(half_bits_to_float(0x7bff), 65504.0F);
  EXPECT_EQ(half_bits_to_float(0x7c00), kInfinity);
  EXPECT_EQ(float_to_half_bits(-0.0F), 0x8000);
  EXPECT_EQ(float_to_half_bits(65504.0F), 0x7bff);
  EXPECT_EQ(float_to_half_bits(65519.996F), 0x7bff);
  EXPECT_EQ(float_to_half_bits(65520.0F), 0x7c00);  // a tie, and the larger one is even
  EXPECT_EQ(float_to_half_bits(-kInfinity), 0xfc00);
  EXPECT_EQ(float_to_half_bits(std::ldexp(1.0F, -25)), 0x0000);  // a tie with zero
  EXPECT_EQ(float_to_half_bits(std::nextafter(std::ldexp(1.0F, -25), 1.0F)), 0x0001);
  EXPECT_EQ(float_to_half_bits(std::ldexp(3.0F, -25)), 0x0002);  // a tie, to even
  EXPECT_EQ(float_to_half_bits(std::numeric_limits<float>::denorm_min()), 0x0000);
}

TEST(BFloat, KnownValues) {
  EXPECT_EQ(float_to_bfloat_bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_bfloat_bits(-std::numeric_limits<float>::max()), 0xff80);
  EXPECT_EQ(float_to_bfloat_bits(-0.0F), 0x8000);
  EXPECT_EQ(float_to_bfloat_bits(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // tie, to even
  EXPECT_EQ(float_to_bfloat_bits(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // tie, to even
  EXPECT_EQ(float_to_bfloat_bits(std::bit_cast<float>(0x00000001U)), 0x0000);
  EXPECT_EQ(float_to_bfloat_bits(std::bit_cast<float>(0x00018001U)), 0x0002);
  // A NaN whose payload lies in the lower half only must not become infinity.
  EXPECT_TRUE(
      std::isnan(bfloat_bits_to_float(float_to_bfloat_bits(std::bit_cast<float>(0x7f800001U)))));
}

TEST(Half, RoundsRandomFloatsToNearestEven) {
  constexpr std::uint32_t kSeed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 200'000; ++i) {
    auto bits = static_cast<std::uint32_t>(random());
    // Every other value near the range and the ties of a half.
    if (i % 2 == 0) {
      bits = (bits & 0x80000000U) | ((98U + bits % 46U) << 23) | (random() & 0x7fe000U) |
             (i % 4 == 0 ? 0x1000U : random() & 0x1fffU);
    }
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half_bits(value), nearest(value, half_bits_to_float, 65520.0, 0x7c00))
        << value;
    if (std::isinf(value)) continue;
    ASSERT_EQ(float_to_bfloat_bits(value),
              nearest(value, bfloat_bits_to_float, std::ldexp(511.0, 119), 0x7f80))
        << value;
  }
}

TEST(HalfTypes, ConvertLikeTheFunctions) {
  EXPECT_EQ(Float16(0.5F).bits, 0x3800);
  EXPECT_EQ(static_cast<float>(BFloat16(-2.0F)), -2.0F);
  EXPECT_EQ(Float16::from_bits(0x3800), Float16(0.5F));
  EXPECT_EQ(BFloat16::from_bits(0x3f80), BFloat16(1.0F));
}

}  // namespace
}  // namespace plimsoll
