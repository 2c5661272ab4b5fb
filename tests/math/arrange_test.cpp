#include <plimsoll/math/arrange.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::math {
namespace {

using test::complaint;
using test::expect_gradients;
using test::random_tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor two_by_three() {
  return Tensor::from_values({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {2, 3}, test::op_cases_device());
}

TEST(Arrange, RollRepeatAndFlipMoveSlices) {
  const Tensor x = two_by_three();
  EXPECT_THAT(roll(x, 1, 1).to_vector<float>(), ElementsAre(3, 1, 2, 6, 4, 5));
  EXPECT_THAT(roll(x, -4, 1).to_vector<float>(), ElementsAre(2, 3, 1, 5, 6, 4));
  EXPECT_THAT(roll(x, 1, 0).to_vector<float>(), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(repeat(x, 2, 1).to_vector<float>(), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
  EXPECT_EQ(repeat(x, 3, 0).shape(), Shape({6, 3}));
  EXPECT_EQ(repeat(x, 0, 0).shape(), Shape({0, 3}));
  EXPECT_THAT(flip(x, -1).to_vector<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
}

TEST(Arrange, TrianglesKeepOneSideOfADiagonal) {
  const Tensor x = two_by_three();
  EXPECT_THAT(tril(x).to_vector<float>(), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(tril(x, 1).to_vector<float>(), ElementsAre(1, 2, 0, 4, 5, 6));
  EXPECT_THAT(triu(x).to_vector<float>(), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(triu(x, 1).to_vector<float>(), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(triu(x, -1).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Arrange, NormsReduceDimensions) {
  const Tensor x = Tensor::from_values({3.0F, -4.0F, 0.0F, 0.0F}, {2, 2}, test::op_cases_device());
  EXPECT_THAT(norm(x, Norm::euclidean, {.axes = {1}}).to_vector<float>(), ElementsAre(5, 0));
  EXPECT_THAT(norm(x, Norm::absolute).to_vector<float>(), ElementsAre(7));
  EXPECT_THAT(norm(x, Norm::largest, {.axes = {0}}).to_vector<float>(), ElementsAre(3, 4));
}

TEST(Arrange, TheGradientOfANormIsZeroWhereAllElementsAre) {
  const Tensor x = Tensor::from_values({3.0F, -4.0F, 0.0F, 0.0F}, {2, 2}, test::op_cases_device());
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const Tensor narrow = ops::cast(x, dtype);
    ops::GradientTape tape;
    tape.watch(narrow);
    const Tensor y = ops::sum(norm(narrow, Norm::euclidean, {.axes = {1}}));
    const std::vector<double> found = test::as_doubles(tape.gradient(y, narrow));
    EXPECT_NEAR(found[0], 0.6, 2e-3) << dtype_name(dtype);
    EXPECT_NEAR(found[1], -0.8, 2e-3) << dtype_name(dtype);
    EXPECT_EQ(found[2], 0) << dtype_name(dtype);
    EXPECT_EQ(found[3], 0) << dtype_name(dtype);
  }
}

TEST(Arrange, ANormThatHalfPrecisionHasIsFiniteThoughItsSquareIsNot) {
  const Tensor x =
      ops::cast(Tensor::from_values({3000.0F, -4000.0F}, {2}, test::op_cases_device()), DType::f16);
  EXPECT_EQ(test::as_doubles(norm(x))[0], 5000);
}

TEST(Arrange, WhereTakesNumbers) {
  const Tensor x = two_by_three();
  EXPECT_THAT(where(x > 3, 0, x).to_vector<float>(), ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_THAT(where(x > 3, x, -1).to_vector<float>(), ElementsAre(-1, -1, -1, 4, 5, 6));
}

TEST(Arrange, GradientsAreWhatDifferencesSay) {
  const Tensor x = random_tensor({2, 3, 4}, 1, DType::f64);
  for (const auto& function :
       {+[](const Tensor& v) { return roll(v, 2, 1); },
        +[](const Tensor& v) { return repeat(v, 2, 1); },
        +[](const Tensor& v) { return flip(v, 2); }, +[](const Tensor& v) { return tril(v, -1); },
        +[](const Tensor& v) { return triu(v); },
        +[](const Tensor& v) { return norm(v, Norm::euclidean, {.axes = {1}}); },
        +[](const Tensor& v) {
          return norm(v, Norm::largest, {.axes = {0, 2}});
        }}) {
    expect_gradients([function](const nn::Tensors& in) { return nn::Tensors{function(in[0])}; },
                     {x});
  }
}

TEST(Arrange, MistakesAreNamed) {
  const Tensor x = two_by_three();
  EXPECT_THAT(complaint([&] { repeat(x, -1, 0); }),
              HasSubstr("[repeat] slices cannot be there -1"));
  EXPECT_THAT(complaint([&] { tril(random_tensor({3}, 1)); }), HasSubstr("[tril] x is f32 [3]"));
}

}  // namespace
}  // namespace plimsoll::math
