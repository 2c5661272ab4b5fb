// Elementwise ops: what the recorded cases do not reach.
#include <plimsoll/ops/elementwise.h>

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/backend/common/convert.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::from_doubles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> random_values(std::int64_t count, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = normal(random);
  return values;
}

Tensor random_tensor(const Shape& shape, DType dtype = DType::f32, unsigned seed = 1) {
  return from_doubles(random_values(shape.elements(), seed), shape, dtype);
}

template <typename Body>
std::string message(Body&& body) {
  try {
    body();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Element `index` of `x` broadcast to `shape`.
double broadcast_at(const std::vector<double>& x, const Shape& from, const Shape& shape,
                    std::int64_t index) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int d = i - (shape.rank() - from.rank());
    if (d >= 0 && from[d] != 1) {
      at += index % shape[i] * stride;
      stride *= from[d];
    }
    index /= shape[i];
  }
  return x[static_cast<std::size_t>(at)];
}

TEST(Elementwise, BroadcastsAcrossTheChunksItIsCutInto) {
  const std::vector<std::array<Shape, 3>> cases = {
      {Shape{300, 10}, Shape{10}, Shape{300, 10}},
      {Shape{3, 1500}, Shape{1500}, Shape{3, 1500}},
      {Shape{3, 1500}, Shape{3, 1}, Shape{3, 1500}},
      {Shape{500, 7}, Shape{500, 1}, Shape{500, 7}},
      {Shape{4, 6, 9, 13}, Shape{6, 1, 1}, Shape{4, 6, 9, 13}},
      {Shape{4, 1, 9, 13}, Shape{6, 1, 13}, Shape{4, 6, 9, 13}},
      {Shape{1, 700}, Shape{5, 1}, Shape{5, 700}},
      {Shape{70'000}, Shape{}, Shape{70'000}},
      {Shape{40, 1, 60}, Shape{1, 30, 1}, Shape{40, 30, 60}}};
  for (const auto& [a_shape, b_shape, shape] : cases) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i16}) {
      const Tensor a = random_tensor(a_shape, dtype);
      const Tensor b = random_tensor(b_shape, dtype, 2);
      const auto x = as_doubles(a);
      const auto y = as_doubles(b);
      const Tensor difference = ops::sub(a, b);
      ASSERT_EQ(difference.shape(), shape);
      const auto actual = as_doubles(difference);
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        const double exact =
            broadcast_at(x, a_shape, shape, i) - broadcast_at(y, b_shape, shape, i);
        const double expected = as_doubles(from_doubles({exact}, {1}, dtype))[0];
        ASSERT_NEAR(actual[static_cast<std::size_t>(i)], expected, std::abs(expected) * 1e-7)
            << a_shape.to_string() << " " << b_shape.to_string() << " element " << i;
      }
    }
  }
}

TEST(Elementwise, BitsDependNeitherOnThreadsNorOnWhereAnElementLies) {
  const Tensor x = random_tensor({100'003});
  const auto functions = {
      +[](const Tensor& t) { return ops::gelu(t); }, +[](const Tensor& t) { return ops::tanh(t); },
      +[](const Tensor& t) { return ops::softplus(t); },
      +[](const Tensor& t) { return ops::elu(t); }, +[](const Tensor& t) { return ops::silu(t); }};
  for (const auto& function : functions) {
    const auto all = as_doubles(function(x));
    set_compute_threads(1);
    EXPECT_EQ(as_doubles(function(x)), all);
    set_compute_threads(0);
    for (const std::int64_t begin : {1, 7, 63, 1023, 99'990}) {
      const auto part = as_doubles(function(x.slice(0, begin)));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin)) << begin;
    }
  }
}

TEST(Elementwise, ResultsOf16BitsAreRoundedOnce) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor x = random_tensor({5000}, dtype);
    const Tensor wide = ops::cast(x, DType::f32);
    EXPECT_EQ(as_doubles(ops::exp(x)), as_doubles(ops::cast(ops::exp(wide), dtype)));
    EXPECT_EQ(as_doubles(ops::mul(x, x)), as_doubles(ops::cast(ops::mul(wide, wide), dtype)));
  }
}

TEST(Cast, RoundsOnceTo16Bits) {
  // Just above the middle of two neighbours: rounding to f32 first would lose that.
  const double f16 = 1 + 0x1p-11 + 0x1p-40;
  const double bf16 = 1 + 0x1p-8 + 0x1p-40;
  const Tensor x =
      from_doubles({f16, -f16, bf16, -bf16, 1 + 0x1p-11, 1e300, -1e300}, {7}, DType::f64);
  EXPECT_THAT(
      as_doubles(ops::cast(x, DType::f16)),
      ElementsAre(1 + 0x1p-10, -1 - 0x1p-10, 1 + 0x1p-8, -1 - 0x1p-8, 1, INFINITY, -INFINITY));
  EXPECT_THAT(as_doubles(ops::cast(x, DType::bf16)),
              ElementsAre(1, -1, 1 + 0x1p-7, -1 - 0x1p-7, 1, INFINITY, -INFINITY));
  const std::int64_t middle = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  const Tensor integers =
      Tensor::from_values({middle, middle + 1, -middle - 1}, {3}, test::op_cases_device());
  EXPECT_THAT(as_doubles(ops::cast(integers, DType::bf16)),
              ElementsAre(0x1p60, 0x1p60 + 0x1p53, -0x1p60 - 0x1p53));
}

TEST(Cast, GoesBetweenAllDtypes) {
  for (const DType from : kDTypes) {
    for (const DType to : kDTypes) {
      if (from == DType::bytes || to == DType::bytes) continue;
      const Tensor x = from_doubles({0, 1, 1, 0}, {2, 2}, from);
      const Tensor y = ops::cast(x, to);
      EXPECT_EQ(y.type(), (TensorType{to, {2, 2}}));
      EXPECT_THAT(as_doubles(y), ElementsAre(0, 1, 1, 0)) << dtype_name(from) << dtype_name(to);
    }
  }
  const Tensor x = from_doubles({1}, {1}, DType::f32);
  EXPECT_EQ(ops::cast(x, DType::f32).id(), x.id());
  EXPECT_THAT(message([&] { ops::cast(x, DType::bytes); }),
              HasSubstr("[cast] cannot cast to bytes"));
}

TEST(Where, TakesEveryDtype) {
  const Tensor condition = from_doubles({1, 0, 1}, {3}, DType::boolean);
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bytes) continue;
    const Tensor a = from_doubles({1, 1, 0}, {3}, dtype);
    const Tensor b = from_doubles({0}, {}, dtype);
    EXPECT_THAT(as_doubles(ops::where(condition, a, b)), ElementsAre(1, 0, 0)) << dtype_name(dtype);
  }
}

TEST(Elementwise, SignFloorAndRoundEndGradientsWithoutComplaint) {
  const Tensor x = from_doubles({0.5, -1.5}, {2}, DType::f32);
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::mul(x, ops::add(ops::sign(x), ops::add(ops::floor(x), ops::round(x))));
  EXPECT_THAT(as_doubles(tape.gradient(y, x)), ElementsAre(1, -5));
}

TEST(Elementwise, BoundsThatIntegersCannotReachAreNone) {
  const Tensor i = from_doubles({-5, 0, 7, 1000000}, {4}, DType::i32);
  EXPECT_THAT(as_doubles(ops::clip(i, 0, 1e10)), ElementsAre(0, 0, 7, 1000000));
  EXPECT_THAT(as_doubles(ops::clip(i, -1e10, 6)), ElementsAre(-5, 0, 6, 6));
  const Tensor u = from_doubles({0, 3, 200, 255}, {4}, DType::u8);
  EXPECT_THAT(as_doubles(ops::clip(u, -1, 300)), ElementsAre(0, 3, 200, 255));
  EXPECT_THAT(as_doubles(ops::clip(u, 5, 1000)), ElementsAre(5, 5, 200, 255));
  // Sums and products wrap around, whatever they are added to or scaled by.
  EXPECT_THAT(as_doubles(ops::shift(u, -1)), ElementsAre(255, 2, 199, 254));
  EXPECT_THAT(as_doubles(ops::scale(u, 257)), ElementsAre(0, 3, 200, 255));
}

TEST(Elementwise, MistakesAreNamed) {
  const Tensor a = from_doubles({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32);
  const Tensor b = from_doubles({1, 2, 3, 4}, {4}, DType::f32);
  const Tensor i = from_doubles({1, 2, 0}, {3}, DType::i32);
  EXPECT_THAT(message([&] { ops::add(a, b); }),
              HasSubstr("[add] shapes [2,3] and [4] do not broadcast (f32 [2,3], f32 [4])"));
  EXPECT_THAT(message([&] { ops::mul(a, i); }),
              HasSubstr("[mul] inputs have different dtypes; cast one of them"));
  EXPECT_THAT(message([&] { ops::div(i, i); }), HasSubstr("[div] an integer is divided by zero"));
  EXPECT_THAT(message([&] { ops::exp(i); }), HasSubstr("[exp] is not defined for i32"));
  EXPECT_THAT(message([&] { ops::scale(i, 0.5); }), HasSubstr("[scale] 0.5 is not an integer"));
  EXPECT_THAT(message([&] { ops::shift(i, 0.5); }), HasSubstr("[shift] 0.5 is not an integer"));
  EXPECT_THAT(message([&] { ops::clip(a, 2, 1); }), HasSubstr("[clip] low 2 is above high 1"));
  EXPECT_THAT(message([&] { ops::clip(a, NAN, 1); }), HasSubstr("[clip] low nan is above high 1"));
  EXPECT_THAT(message([&] { ops::leaky_relu(a, -1); }),
              HasSubstr("[leaky_relu] slope must be at least 0, not -1"));
  EXPECT_THAT(message([&] { ops::elu(a, -1); }), HasSubstr("[elu] alpha must be at least 0"));
  EXPECT_THAT(message([&] { ops::where(a, a, a); }), HasSubstr("[where] is not defined for f32"));
  EXPECT_THAT(message([&] { ops::logical_and(i, i); }), HasSubstr("is not defined for i32"));
  EXPECT_THAT(message([&] { ops::add(a, Tensor()); }), HasSubstr("[add]"));
}

TEST(Elementwise, CastsOfFloatsToSmallIntegersKeepTheRule) {
  std::vector<float> values = {0.0F, -0.0F, 0.4F, -0.6F, NAN, -NAN, INFINITY, -INFINITY, 1e30F};
  for (const float edge : {-32768.0F, -128.0F, 0.0F, 127.0F, 128.0F, 255.0F, 256.0F, 32767.0F,
                           32768.0F, 65535.0F, 65536.0F}) {
    for (const float step : {-1.5F, -1.0F, -0.5F, 0.0F, 0.5F, 1.0F, 1.5F}) {
      values.push_back(edge + step);
      values.push_back(std::nextafter(edge, step < 0 ? -INFINITY : INFINITY));
    }
  }
  const Tensor x = from_doubles(std::vector<double>(values.begin(), values.end()),
                                {static_cast<std::int64_t>(values.size())}, DType::f32);
  const auto expect = [&]<typename To>(DType dtype) {
    const std::vector<To> got = ops::cast(x, dtype).to_vector<To>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(got[i], backend::converted<To>(values[i])) << values[i];
    }
  };
  expect.operator()<std::uint8_t>(DType::u8);
  expect.operator()<std::int8_t>(DType::i8);
  expect.operator()<std::uint16_t>(DType::u16);
  expect.operator()<std::int16_t>(DType::i16);
}

}  // namespace
}  // namespace plimsoll
