// backend/cpu/math.h against the C library in double.
#include "backend/cpu/math.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::cpu {
namespace {

constexpr std::size_t kBlock = 64;

/// Floats spread over all magnitudes: every `step`-th pattern of bits.
std::vector<float> floats(std::uint32_t step) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, math::kInfinity, -math::kInfinity, NAN}) {
    values.push_back(x);
  }
  while (values.size() % kBlock != 0) values.push_back(0.5F);
  return values;
}

template <typename F>
PLIMSOLL_CLONES void apply(const float* PLIMSOLL_RESTRICT x, float* PLIMSOLL_RESTRICT y,
                           std::size_t count) {
  for (std::size_t i = 0; i < count; i += kBlock) {
#pragma omp simd
    for (std::size_t j = 0; j < kBlock; ++j) y[i + j] = F::apply(x[i + j]);
  }
}

/// The distance from the true value in units of a float's last place there.
double ulps(float actual, double truth) {
  const auto rounded = static_cast<float>(truth);
  if (std::isnan(truth)) return std::isnan(actual) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(actual)) return actual == rounded ? 0 : INFINITY;
  const float magnitude = std::max(std::abs(rounded), 1.17549435e-38F);
  return std::abs(actual - truth) / (std::nextafter(magnitude, INFINITY) - magnitude);
}

template <typename F, typename Truth>
void expect_within(double bound, Truth truth, float low = -INFINITY, float high = INFINITY) {
  const std::vector<float> x = floats(4099);
  std::vector<float> y(x.size());
  apply<F>(x.data(), y.data(), x.size());
  double worst = 0;
  float where = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < low || x[i] > high) continue;
    const double off = ulps(y[i], truth(static_cast<double>(x[i])));
    if (off <= worst) continue;
    worst = off;
    where = x[i];
  }
  EXPECT_LE(worst, bound) << "at " << where;
}

#define PLIMSOLL_TEST_FUNCTION(NAME)                                      \
  struct NAME {                                                           \
    PLIMSOLL_INLINE static float apply(float x) { return math::NAME(x); } \
  }
PLIMSOLL_TEST_FUNCTION(exp);
PLIMSOLL_TEST_FUNCTION(expm1);
PLIMSOLL_TEST_FUNCTION(log);
PLIMSOLL_TEST_FUNCTION(log1p);
PLIMSOLL_TEST_FUNCTION(tanh);
PLIMSOLL_TEST_FUNCTION(erf);
PLIMSOLL_TEST_FUNCTION(sigmoid);
#undef PLIMSOLL_TEST_FUNCTION

TEST(CpuMath, ExpIsRight) {
  expect_within<exp>(1.5, [](double x) { return std::exp(x); });
}
TEST(CpuMath, Expm1IsRight) {
  expect_within<expm1>(2, [](double x) { return std::expm1(x); });
}
TEST(CpuMath, LogIsRight) {
  expect_within<log>(1.5, [](double x) { return std::log(x); });
}
TEST(CpuMath, Log1pIsRight) {
  expect_within<log1p>(2, [](double x) { return std::log1p(x); });
}
TEST(CpuMath, TanhIsRight) {
  expect_within<tanh>(2, [](double x) { return std::tanh(x); });
}
TEST(CpuMath, ErfIsRight) {
  expect_within<erf>(2, [](double x) { return std::erf(x); });
}
TEST(CpuMath, SigmoidIsRight) {
  expect_within<sigmoid>(
      3, [](double x) { return 1 / (1 + std::exp(-x)); }, -87.0F);
}

TEST(CpuMath, SineAndCosineOfATurn) {
  double worst = 0;
  for (int i = 0; i <= 1 << 20; ++i) {
    const float x = static_cast<float>(i) / static_cast<float>(1 << 20);
    float sine = 0;
    float cosine = 0;
    math::sincos_turn(x, sine, cosine);
    const double angle = 2 * M_PI * static_cast<double>(x);
    worst = std::max({worst, std::abs(sine - std::sin(angle)), std::abs(cosine - std::cos(angle))});
  }
  EXPECT_LE(worst, 1.5e-7);
}

TEST(CpuMath, HalvesConvertAsInHalfH) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(math::from_half(bits)),
              std::bit_cast<std::uint32_t>(half_bits_to_float(bits)))
        << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(math::from_bfloat(bits)),
              std::bit_cast<std::uint32_t>(bfloat_bits_to_float(bits)))
        << i;
  }
  for (const float x : floats(4093)) {
    ASSERT_EQ(math::to_half(x), float_to_half_bits(x)) << x;
    ASSERT_EQ(math::to_bfloat(x), float_to_bfloat_bits(x)) << x;
  }
}

}  // namespace
}  // namespace plimsoll::cpu
