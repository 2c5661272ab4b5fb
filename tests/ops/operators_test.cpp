// Operators on tensors and numbers. No `using namespace`: they must be found as a user writes them.
#include <plimsoll/ops/operators.h>

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>

#include "support/own_device.h"

namespace pm = plimsoll;

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Operators : public ::testing::Test {
 protected:
  template <typename T>
  pm::Tensor of(std::initializer_list<T> values) {
    return pm::Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, cpu_);
  }
  static std::vector<float> f(const pm::Tensor& x) { return x.to_vector<float>(); }
  static std::vector<int> bits(const pm::Tensor& x) {
    std::vector<int> result;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      result.push_back(x.slice(0, i, i + 1).item<bool>() ? 1 : 0);
    }
    return result;
  }

  pm::Device cpu_ = pm::test::own_cpu({.limit = pm::MiB(16)});
};

TEST_F(Operators, AreFoundBesideTheTensor) {
  const pm::Tensor a = of<float>({1, 2});
  const pm::Tensor b = of<float>({3, 5});
  EXPECT_THAT(f(a + b), ElementsAre(4, 7));
  EXPECT_THAT(f(a - b), ElementsAre(-2, -3));
  EXPECT_THAT(f(a * b), ElementsAre(3, 10));
  EXPECT_THAT(f(b / a), ElementsAre(3, 2.5F));
  EXPECT_THAT(f(-a), ElementsAre(-1, -2));
  EXPECT_THAT(bits(a < b), ElementsAre(1, 1));
  EXPECT_THAT(bits(a == a), ElementsAre(1, 1));  // NOLINT: element by element
  EXPECT_THAT(bits(a != a), ElementsAre(0, 0));  // NOLINT
  EXPECT_THAT(bits(a >= b), ElementsAre(0, 0));
}

TEST_F(Operators, NumbersTakeTheTensorsDtype) {
  const pm::Tensor x = of<float>({0, 51, 255});
  EXPECT_THAT(f(x / 255), ElementsAre(0.0F, 0.2F, 1.0F));
  EXPECT_THAT(f(2 * x), ElementsAre(0, 102, 510));
  EXPECT_THAT(f(x * 0.5), ElementsAre(0, 25.5F, 127.5F));
  EXPECT_THAT(f(x + 1), ElementsAre(1, 52, 256));
  EXPECT_THAT(f(1.0 + x), ElementsAre(1, 52, 256));
  EXPECT_THAT(f(x - 1U), ElementsAre(-1, 50, 254));
  EXPECT_THAT(f(1 - x), ElementsAre(1, -50, -254));
  EXPECT_THAT(f(510 / (x + 255.0F)), ElementsAre(2, 510 / 306.0F, 1));
  EXPECT_THAT(bits(x > 50), ElementsAre(0, 1, 1));
  EXPECT_THAT(bits(50 > x), ElementsAre(1, 0, 0));
  EXPECT_THAT(bits(x <= 51.0), ElementsAre(1, 1, 0));
  EXPECT_THAT(bits(x == 255), ElementsAre(0, 0, 1));
  EXPECT_THAT(bits(255 == x), ElementsAre(0, 0, 1));
  EXPECT_THAT(bits(x != 255), ElementsAre(1, 1, 0));
  const pm::Tensor half = pm::ops::cast(x, pm::DType::bf16);
  EXPECT_EQ((half / 3).dtype(), pm::DType::bf16);
  EXPECT_EQ((1.5 * half).dtype(), pm::DType::bf16);
}

TEST_F(Operators, DividingIsAsExactAsDividing) {
  for (const double by : {3.0, 7.0, 10.0, 255.0, 1e-3, 4.0, 0.125}) {
    const pm::Tensor x = of<float>({1, 9, 0.7F, -255, 1e-6F});
    std::vector<float> expected;
    for (const float value : f(x)) expected.push_back(value / static_cast<float>(by));
    EXPECT_EQ(f(x / by), expected) << by;
  }
}

TEST_F(Operators, IntegersStayIntegersButForDivision) {
  const pm::Tensor x = of<std::int32_t>({7, -8});
  EXPECT_THAT((x + 1).to_vector<std::int32_t>(), ElementsAre(8, -7));
  EXPECT_THAT((3 * x).to_vector<std::int32_t>(), ElementsAre(21, -24));
  EXPECT_THAT((x * 2.0).to_vector<std::int32_t>(), ElementsAre(14, -16));
  EXPECT_THAT((1 - x).to_vector<std::int32_t>(), ElementsAre(-6, 9));
  EXPECT_THAT(f(x / 2), ElementsAre(3.5F, -4));
  EXPECT_THAT(f(x / of<std::int32_t>({2, 3})), ElementsAre(3.5F, -8 / 3.0F));
  EXPECT_THAT(f(14 / x), ElementsAre(2, -1.75F));
  const pm::Tensor pixel = of<std::uint8_t>({200, 5});
  EXPECT_THAT((pixel - 5).to_vector<std::uint8_t>(), ElementsAre(195, 0));
  EXPECT_THAT((255 - pixel).to_vector<std::uint8_t>(), ElementsAre(55, 250));
  EXPECT_THAT(f(pixel / 255), ElementsAre(200 / 255.0F, 5 / 255.0F));
}

TEST_F(Operators, LargeIntegersAreExact) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 60) + 1;
  constexpr std::int64_t kBeyondDoubles = (std::int64_t{1} << 53) + 1;
  const pm::Tensor x = of<std::int64_t>({1, -2, kLarge});
  EXPECT_THAT((x + kLarge).to_vector<std::int64_t>(),
              ElementsAre(kLarge + 1, kLarge - 2, 2 * kLarge));
  EXPECT_THAT((kLarge - x).to_vector<std::int64_t>(), ElementsAre(kLarge - 1, kLarge + 2, 0));
  EXPECT_THAT((x - kBeyondDoubles).to_vector<std::int64_t>(),
              ElementsAre(1 - kBeyondDoubles, -2 - kBeyondDoubles, kLarge - kBeyondDoubles));
  EXPECT_THAT((of<std::int64_t>({1, -3}) * kBeyondDoubles).to_vector<std::int64_t>(),
              ElementsAre(kBeyondDoubles, -3 * kBeyondDoubles));
  EXPECT_THAT(bits(x == kLarge), ElementsAre(0, 0, 1));
  EXPECT_THAT(bits(x == kLarge - 1), ElementsAre(0, 0, 0));
  EXPECT_THAT(bits(x < kLarge), ElementsAre(1, 1, 0));
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT((x + kLowest).slice(0, 0, 1).to_vector<std::int64_t>(), ElementsAre(kLowest + 1));
  EXPECT_THAT([&] { (void)(x + (std::uint64_t{1} << 63)); },
              ThrowsMessage<pm::InvalidArgument>(HasSubstr("9.223372036854776e+18")));
  EXPECT_THAT([&] { (void)(of<std::int32_t>({1}) + kLarge); },
              ThrowsMessage<pm::InvalidArgument>(HasSubstr(std::to_string(kLarge))));
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(pm::ops::clip(of<std::int64_t>({-1, odd + 1}), 0, odd).to_vector<std::int64_t>(),
              ElementsAre(0, odd));
}

TEST_F(Operators, WeightsOfADeviceAreUsedWithinASessionOfIt) {
  const pm::Tensor weights = of<float>({1, 2});
  const pm::Session session = cpu_.session("evaluation");
  const pm::Tensor x = weights.to(session.device());
  for (const pm::Tensor& y : {x * weights, weights * x}) {
    EXPECT_EQ(y.device(), session.device());
    EXPECT_THAT(f(y), ElementsAre(1, 4));
  }
  const pm::Session other = cpu_.session("other");
  EXPECT_THAT([&] { (void)(x + weights.to(other.device())); },
              ThrowsMessage<pm::InvalidArgument>(HasSubstr("move one with to()")));
  const pm::Device another = pm::test::own_cpu({.limit = pm::MiB(16)});
  const pm::Session elsewhere = another.session("evaluation");
  EXPECT_THAT([&] { (void)(weights + weights.to(elsewhere.device())); },
              ThrowsMessage<pm::InvalidArgument>(HasSubstr("move one with to()")));
}

TEST_F(Operators, BoolsAreComparedWith0And1Alone) {
  const pm::Tensor x = of<float>({1, 2}) > 1.5;
  EXPECT_THAT(bits(x == 1), ElementsAre(0, 1));
  EXPECT_THAT(bits(x < 1), ElementsAre(1, 0));
  for (const double number : {0.5, 2.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT([&] { (void)(x > number); },
                ThrowsMessage<pm::InvalidArgument>(HasSubstr("does not fit the dtype of bool")));
  }
}

TEST_F(Operators, WhatDoesNotFitIsRefusedNamingCast) {
  const pm::Tensor ints = of<std::int32_t>({1, 2});
  const pm::Tensor pixel = of<std::uint8_t>({1, 2});
  const auto names_cast = [](const char* what) {
    return ThrowsMessage<pm::InvalidArgument>(AllOf(HasSubstr(what), HasSubstr("cast")));
  };
  EXPECT_THAT([&] { (void)(ints + 0.5); }, names_cast("[add] 0.5"));
  EXPECT_THAT([&] { (void)(0.5 * ints); }, names_cast("[mul] 0.5"));
  EXPECT_THAT([&] { (void)(pixel + 300); }, names_cast("[add] 300"));
  EXPECT_THAT([&] { (void)(pixel - -1); }, names_cast("[sub] -1"));
  EXPECT_THAT([&] { (void)(pixel < 256); }, names_cast("256"));
  EXPECT_THAT([&] { (void)(ints + of<float>({1, 2})); }, names_cast("[add]"));
  EXPECT_THAT([&] { (void)(ints / of<float>({1, 2})); }, names_cast("[div]"));
  EXPECT_THAT([&] { (void)(ints == of<std::int64_t>({1, 2})); }, names_cast("[equal]"));
  EXPECT_THAT([&] { (void)(pm::Tensor() + 1); },
              ThrowsMessage<pm::InvalidArgument>(HasSubstr("undefined")));
}

TEST_F(Operators, CarryGradients) {
  const pm::Tensor x = of<float>({1, 2, 4});
  pm::ops::GradientTape tape;
  tape.watch(x);
  const pm::Tensor y = pm::ops::sum(3 / x + (x / 3 - 1) * x - 2 * -x);
  const pm::Tensor dx = tape.gradient(y, x);
  std::vector<float> expected;
  for (const float v : {1.0F, 2.0F, 4.0F}) expected.push_back(-3 / (v * v) + 2 * v / 3 - 1 + 2);
  EXPECT_THAT(f(dx), testing::Pointwise(testing::FloatNear(1e-5F), expected));
}

}  // namespace
