// Reductions: what the recorded cases do not reach.
#include <plimsoll/ops/reduce.h>

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::from_doubles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor reduce_input(const Shape& shape, DType dtype = DType::f32) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.5, 1);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& v : values) v = normal(random);
  return from_doubles(values, shape, dtype);
}

template <typename Body>
std::string reduce_message(Body&& body) {
  try {
    body();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

struct Case {
  Shape shape;
  std::vector<std::int64_t> axes;
};

/// One for each way in which a reduction is cut.
std::vector<Case> cases() {
  return {{{300'000}, {0}},
          {{50'000, 8}, {0}},
          {{8, 50'000}, {1}},
          {{3000, 40}, {1}},
          {{40, 3000}, {0}},
          {{5, 4000, 6}, {1}},
          {{16, 20, 15, 15}, {0, 2, 3}},
          {{16, 15, 15, 20}, {0, 1, 2}},
          {{2000, 3}, {1}},
          {{3, 70, 5, 90}, {1, 3}},
          {{3, 70, 5, 90}, {0, 2}},
          {{700, 1500}, {0}}};
}

TEST(Reduce, ErrorsOfF32SumsDoNotGrowWithTheirLength) {
  // At most 128 elements are joined in a row in f32, then 6 times two results of that, then f64:
  // each of these roundings is at most half a unit in the last place of what was summed so far.
  constexpr double kBound = (128 + 6 + 1) * 0x1p-24;
  for (const Case& c : cases()) {
    const Tensor x = reduce_input(c.shape);
    const Tensor wide = from_doubles(as_doubles(x), c.shape, DType::f64);
    const auto expected = as_doubles(ops::sum(wide, {.axes = c.axes}));
    const auto sizes = as_doubles(ops::sum(ops::abs(wide), {.axes = c.axes}));
    const auto actual = as_doubles(ops::sum(x, {.axes = c.axes}));
    const bool many = c.shape.elements() >= 10'000 * static_cast<std::int64_t>(actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      // Of many elements, errors cancel: what is left is mostly the last rounding.
      ASSERT_NEAR(actual[i], expected[i], sizes[i] * (many ? 1e-7 : kBound))
          << c.shape.to_string() << " " << i;
    }
  }
}

TEST(Reduce, BitsDoNotDependOnTheNumberOfThreads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Case& c : cases()) {
      const Tensor x = reduce_input(c.shape, dtype);
      const auto several = as_doubles(ops::sum(x, {.axes = c.axes}));
      set_compute_threads(1);
      const auto one = as_doubles(ops::sum(x, {.axes = c.axes}));
      set_compute_threads(3);
      const auto three = as_doubles(ops::sum(x, {.axes = c.axes}));
      set_compute_threads(0);
      EXPECT_EQ(one, several) << c.shape.to_string();
      EXPECT_EQ(one, three) << c.shape.to_string();
    }
  }
}

TEST(Reduce, AMeanOf16BitsDoesNotOverflowOnItsWay) {
  const Tensor x = from_doubles(std::vector<double>(5000, 40'000), {5000}, DType::f16);
  EXPECT_THAT(as_doubles(ops::mean(x)), ElementsAre(40'000));
}

TEST(Reduce, VarianceIsTheMeanSquaredDistance) {
  const Tensor x = from_doubles({1, 2, 3, 4, 6, 8}, {2, 3}, DType::f64);
  const auto rows = as_doubles(ops::variance(x, {.axes = {1}}));
  EXPECT_NEAR(rows[0], 2.0 / 3, 1e-12);
  EXPECT_NEAR(rows[1], 8.0 / 3, 1e-12);
  EXPECT_EQ(ops::variance(x, {.axes = {0}, .keep_dims = true}).shape(), Shape({1, 3}));
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(ops::variance(x), x);
  const auto values = as_doubles(x);
  const auto actual = as_doubles(gradient);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(actual[i], 2 * (values[i] - 4) / 6, 1e-12);
  }
}

TEST(Reduce, AxesMayCountFromTheEnd) {
  const Tensor x = reduce_input({2, 3, 4}, DType::f64);
  EXPECT_EQ(as_doubles(ops::sum(x, {.axes = {-1, 0}})), as_doubles(ops::sum(x, {.axes = {0, 2}})));
  EXPECT_EQ(as_doubles(ops::argmax(x, -2)), as_doubles(ops::argmax(x, 1)));
}

TEST(Reduce, SumToUndoesBroadcasting) {
  const Tensor x = reduce_input({2, 3, 4}, DType::f64);
  EXPECT_EQ(ops::sum_to(x, {2, 3, 4}).id(), x.id());
  EXPECT_EQ(ops::sum_to(x, {3, 1}).shape(), Shape({3, 1}));
  EXPECT_EQ(as_doubles(ops::sum_to(x, {3, 1})), as_doubles(ops::sum(x, {.axes = {0, 2}})));
  EXPECT_EQ(as_doubles(ops::sum_to(x, {})), as_doubles(ops::sum(x)));
}

TEST(Reduce, MistakesAreNamed) {
  const Tensor x = reduce_input({2, 3});
  const Tensor nothing = from_doubles({}, {2, 0}, DType::f32);
  const Tensor scalar = from_doubles({1}, {}, DType::f32);
  EXPECT_THAT(reduce_message([&] { ops::sum(x, {.axes = {2}}); }),
              HasSubstr("[sum] there is no axis 2"));
  EXPECT_THAT(reduce_message([&] {
                ops::mean(x, {.axes = {0, -2}});
              }),
              HasSubstr("[mean] an axis twice"));
  EXPECT_THAT(reduce_message([&] { ops::max(nothing, {.axes = {1}}); }),
              HasSubstr("[max] there are no elements to choose from (f32 [2,0]"));
  EXPECT_THAT(reduce_message([&] { ops::argmax(nothing, 1); }),
              HasSubstr("[argmax] there are no elements"));
  EXPECT_THAT(reduce_message([&] { ops::argmax(x, 2); }),
              HasSubstr("[argmax] there is no such axis"));
  EXPECT_THAT(reduce_message([&] { ops::top_k(x, 4); }),
              HasSubstr("[top_k] k must be from 0 to 3, not 4 (f32 [2,3]"));
  EXPECT_THAT(reduce_message([&] { ops::top_k(x, -1); }), HasSubstr("not -1"));
  EXPECT_THAT(reduce_message([&] { ops::top_k(scalar, 1); }),
              HasSubstr("a scalar has no last dimension"));
  EXPECT_THAT(reduce_message([&] { ops::all(x); }), HasSubstr("[all] is not defined for f32"));
}

TEST(Reduce, OfBoolsCountWhatHolds) {
  const Tensor x = ops::greater(from_doubles({1, 0, 1, 0, 0, 0, 1, 1, 1}, {3, 3}, DType::f32),
                                from_doubles({0}, {}, DType::f32));
  const Tensor sums = ops::sum(x, {.axes = {1}});
  EXPECT_EQ(sums.dtype(), DType::i64);
  EXPECT_THAT(as_doubles(sums), ElementsAre(2, 0, 3));
  EXPECT_THAT(as_doubles(ops::sum(x, {.axes = {0}, .keep_dims = true})), ElementsAre(2, 1, 2));
  EXPECT_EQ(ops::sum(x).item<std::int64_t>(), 5);
  EXPECT_FLOAT_EQ(ops::mean(x).item<float>(), 5.0F / 9);
  EXPECT_THAT(as_doubles(ops::prod(x, {.axes = {1}})), ElementsAre(0, 0, 1));
  const Tensor most = ops::max(x, {.axes = {1}});
  EXPECT_EQ(most.dtype(), DType::boolean);
  EXPECT_THAT(as_doubles(most), ElementsAre(1, 0, 1));
  EXPECT_THAT(as_doubles(ops::min(x, {.axes = {1}})), ElementsAre(0, 0, 1));
  EXPECT_THAT(as_doubles(ops::argmax(x, 0)), ElementsAre(0, 2, 0));
  const Tensor counted = ops::cumsum(x, 0, {.reverse = true});
  EXPECT_EQ(counted.dtype(), DType::i64);
  EXPECT_THAT(as_doubles(counted), ElementsAre(2, 1, 2, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(as_doubles(ops::cumprod(x, 1)), ElementsAre(1, 0, 0, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(as_doubles(ops::sum(ops::slice(x, 0, 0, 0), {.axes = {0}})), ElementsAre(0, 0, 0));
}

TEST(Reduce, BoolsAreSortedFalseFirst) {
  const Tensor x = ops::greater(from_doubles({1, 0, 1, 0, 0, 0}, {2, 3}, DType::f32),
                                from_doubles({0}, {}, DType::f32));
  const auto [values, places] = ops::sort(x);
  EXPECT_EQ(values.dtype(), DType::boolean);
  EXPECT_THAT(as_doubles(values), ElementsAre(0, 1, 1, 0, 0, 0));
  EXPECT_THAT(as_doubles(places), ElementsAre(1, 0, 2, 0, 1, 2));
  EXPECT_THAT(as_doubles(ops::argsort(x, 0, {.descending = true})), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(as_doubles(ops::sort(x, 0, {.descending = true}).first),
              ElementsAre(1, 0, 1, 0, 0, 0));
}

}  // namespace
}  // namespace plimsoll
