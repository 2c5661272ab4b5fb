#include <plimsoll/ops/softmax.h>

#include <cmath>

#include <gtest/gtest.h>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::complaint;
using test::distance;
using test::from_doubles;
using test::independent_of_threads;
using test::random_indices;
using test::random_tensor;

TEST(Softmax, OfManyShapesIsNearThatInDoubles) {
  for (const Shape& shape : {Shape{100, 333}, Shape{3, 5000}, Shape{2, 40, 200}, Shape{7, 1}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Tensor x = random_tensor(shape, 21);
      const Tensor wide = from_doubles(as_doubles(x), shape, DType::f64);
      EXPECT_LT(distance(ops::softmax(x, axis), ops::softmax(wide, axis)), 3e-7);
      EXPECT_LT(distance(ops::log_softmax(x, axis), ops::log_softmax(wide, axis)), 4e-6);
    }
  }
}

TEST(Softmax, DoesNotDependOnThreads) {
  const Tensor x = random_tensor({120, 17, 70}, 22);
  const Tensor rows = random_tensor({400, 300}, 23);
  const Tensor labels = random_indices({400}, 300, 24);
  EXPECT_TRUE(independent_of_threads([&] {
    ops::GradientTape tape({.persistent = true});
    tape.watch(rows);
    tape.watch(x);
    const Tensor loss = ops::cross_entropy(rows, labels, 0.1);
    const Tensor dense = ops::cross_entropy_dense(rows, ops::softmax(rows));
    const Tensor middle = ops::log_softmax(x, 1);
    return std::vector<Tensor>{loss,
                               dense,
                               middle,
                               ops::softmax(x, 0),
                               tape.gradient(loss, rows),
                               tape.gradient(dense, rows),
                               tape.gradient(middle, x)};
  }));
}

TEST(Softmax, OfMinusInfinityIsZeroAndOfNanIsNan) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const auto some = as_doubles(ops::softmax(from_doubles({-inf, 0, -inf, 0}, {4}, dtype)));
    EXPECT_EQ(some, (std::vector<double>{0, 0.5, 0, 0.5}));
    for (const double y : as_doubles(ops::softmax(from_doubles({1, nan, 2}, {3}, dtype)))) {
      EXPECT_TRUE(std::isnan(y));
    }
    for (const double y : as_doubles(ops::softmax(from_doubles({-inf, -inf}, {2}, dtype)))) {
      EXPECT_TRUE(std::isnan(y));
    }
  }
}

TEST(CrossEntropy, OfLargeLogitsNeitherOverflowsNorLosesDigits) {
  const Tensor logits = from_doubles({1e5, 1e5 - 2, 0, -1e5, -1e5, -1e5}, {2, 3}, DType::f32);
  const Tensor labels = Tensor::from_values<std::int64_t>({1, 0}, {2}, test::op_cases_device());
  const auto loss = as_doubles(ops::cross_entropy(logits, labels));
  EXPECT_NEAR(loss[0], 2 + std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(loss[1], std::log(3.0), 1e-6);
}

TEST(CrossEntropy, GivesF32ForSixteenBitLogitsAndGradientsInTheirDtype) {
  const Tensor logits = random_tensor({6, 50}, 25, DType::bf16);
  const Tensor labels = random_indices({6}, 50, 26);
  ops::GradientTape tape;
  tape.watch(logits);
  const Tensor loss = ops::cross_entropy(logits, labels);
  EXPECT_EQ(loss.dtype(), DType::f32);
  EXPECT_EQ(tape.gradient(loss, logits).dtype(), DType::bf16);
}

TEST(CrossEntropy, IgnoredRowsCostNothingEvenWhereTheyAreNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor logits = from_doubles({nan, nan, 1, 1}, {2, 2}, DType::f32);
  const Tensor labels =
      Tensor::from_values<std::int64_t>({ops::kIgnoreLabel, 0}, {2}, test::op_cases_device());
  ops::GradientTape tape;
  tape.watch(logits);
  const Tensor loss = ops::cross_entropy(logits, labels);
  EXPECT_EQ(as_doubles(loss)[0], 0);
  EXPECT_EQ(as_doubles(tape.gradient(loss, logits)), (std::vector<double>{0, 0, -0.5, 0.5}));
}

TEST(CrossEntropy, OfADistributionWithAllMassOnALabelIsThatOfTheLabel) {
  const Tensor logits = random_tensor({5, 7}, 27);
  std::vector<double> targets(35);
  const Tensor labels = random_indices({5}, 7, 28);
  for (std::size_t i = 0; i < 5; ++i) {
    targets[i * 7 + static_cast<std::size_t>(labels.to_vector<std::int64_t>()[i])] = 1;
  }
  const Tensor dense = from_doubles(targets, {5, 7}, DType::f32);
  EXPECT_LT(distance(ops::cross_entropy(logits, labels), ops::cross_entropy_dense(logits, dense)),
            1e-6);
}

TEST(Softmax, ErrorsNameTheOpTheShapesAndTheValue) {
  const Tensor x = random_tensor({2, 3}, 29);
  const auto labels = [](std::initializer_list<std::int64_t> values) {
    return Tensor::from_values<std::int64_t>(values, {static_cast<std::int64_t>(values.size())},
                                             test::op_cases_device());
  };
  EXPECT_EQ(complaint([&] { ops::softmax(x, 2); }),
            "[softmax] there is no axis 2 among 2 dimensions (f32 [2,3]; axis=2)");
  EXPECT_NE(complaint([&] { ops::softmax(random_tensor({}, 1)); }), "");
  EXPECT_EQ(
      complaint([&] {
        ops::cross_entropy(x, labels({0, 3}));
      }),
      "[cross_entropy] label 3 of row 1 is not one of 3 classes; rows to leave out have the label "
      "-100");
  EXPECT_NE(complaint([&] { ops::cross_entropy(x, labels({-1, 0})); }), "");
  EXPECT_EQ(complaint([&] {
              ops::cross_entropy(x, labels({0, 1, 2}));
            }),
            "[cross_entropy] labels must have shape [2] (f32 [2,3], i64 [3]; smoothing=0)");
  EXPECT_NE(complaint([&] { ops::cross_entropy(x, x); }).find("use cross_entropy_dense"),
            std::string::npos);
  EXPECT_NE(complaint([&] { ops::cross_entropy(x, labels({0, 1}), 1.5); }), "");
  EXPECT_NE(complaint([&] { ops::cross_entropy(x, labels({0, 1}), std::nan("")); }), "");
  EXPECT_EQ(complaint([&] {
              ops::cross_entropy_dense(x, random_tensor({3, 2}, 1));
            }),
            "[cross_entropy_dense] logits and targets differ in type (f32 [2,3], f32 [3,2])");
}

}  // namespace
}  // namespace plimsoll
