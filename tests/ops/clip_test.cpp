// Gradients clipped by value, norm and global norm.
#include <plimsoll/ops/clip.h>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/plan/run_graph.h>

#include "support/op_cases.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::from_doubles;
using testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<Tensor> example(DType dtype) {
  return {from_doubles({3, -4}, {2}, dtype), Tensor(), from_doubles({0, 12}, {2, 1}, dtype)};
}

TEST(ClipByValue, BoundsEveryElement) {
  const auto clipped = ops::clip_by_value(example(DType::f32), -3.5, 3.5);
  EXPECT_THAT(as_doubles(clipped[0]), ElementsAre(3, -3.5));
  EXPECT_FALSE(clipped[1].defined());
  EXPECT_THAT(as_doubles(clipped[2]), ElementsAre(0, 3.5));
}

TEST(ClipByNorm, ScalesDownAndNeverUp) {
  const Tensor x = from_doubles({3, -4}, {2}, DType::f64);
  EXPECT_THAT(as_doubles(ops::clip_by_norm(x, 1)),
              ElementsAre(DoubleNear(0.6, 1e-12), DoubleNear(-0.8, 1e-12)));
  EXPECT_THAT(as_doubles(ops::clip_by_norm(x, 6)), ElementsAre(3, -4));
  const Tensor zero = from_doubles({0, 0}, {2}, DType::f64);
  EXPECT_THAT(as_doubles(ops::clip_by_norm(zero, 1)), ElementsAre(0, 0));
  EXPECT_EQ(ops::clip_by_norm(from_doubles({}, {0}, DType::f32), 1).elements(), 0);
}

TEST(ClipByGlobalNorm, ScalesAllByOneFactor) {
  const auto clipped = ops::clip_by_global_norm(example(DType::f64), 6.5);
  EXPECT_THAT(as_doubles(clipped.norm), ElementsAre(13));
  EXPECT_THAT(as_doubles(clipped.gradients[0]), ElementsAre(1.5, -2));
  EXPECT_FALSE(clipped.gradients[1].defined());
  EXPECT_THAT(as_doubles(clipped.gradients[2]), ElementsAre(0, 6));
  EXPECT_EQ(clipped.gradients[2].shape(), Shape({2, 1}));
  const auto untouched = ops::clip_by_global_norm(example(DType::f32), 14);
  EXPECT_THAT(as_doubles(untouched.gradients[0]), ElementsAre(3, -4));
}

TEST(ClipByGlobalNorm, SquaresOf16BitsDoNotOverflow) {
  const std::vector<Tensor> gradients = {from_doubles({30'000, 40'000}, {2}, DType::f16)};
  const auto clipped = ops::clip_by_global_norm(gradients, 5);
  EXPECT_EQ(clipped.norm.dtype(), DType::f32);
  EXPECT_THAT(as_doubles(clipped.norm), ElementsAre(DoubleNear(50'000, 20)));
  EXPECT_EQ(clipped.gradients[0].dtype(), DType::f16);
  EXPECT_THAT(as_doubles(clipped.gradients[0]),
              ElementsAre(DoubleNear(3, 4e-3), DoubleNear(4, 4e-3)));
}

TEST(ClipByGlobalNorm, ANormThatIsNotFiniteShows) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const std::vector<Tensor> gradients = {from_doubles({1, bad}, {2}, DType::f32),
                                           from_doubles({2}, {1}, DType::f32)};
    const auto clipped = ops::clip_by_global_norm(gradients, 1);
    EXPECT_TRUE(std::isnan(as_doubles(clipped.gradients[0])[0]));
    EXPECT_TRUE(std::isnan(as_doubles(clipped.gradients[1])[0]));
  }
}

TEST(ClipByGlobalNorm, TracesToTheSameBits) {
  const std::vector<Tensor> gradients = {from_doubles({3, -4, 0.1}, {3}, DType::f32),
                                         from_doubles({7}, {}, DType::f32)};
  const auto eager = ops::clip_by_global_norm(gradients, 2);
  graph::Tracer tracer;
  const std::vector<Tensor> inputs = {tracer.input("a", gradients[0].type()),
                                      tracer.input("b", gradients[1].type())};
  {
    const ops::DispatchScope scope(tracer);
    const auto traced = ops::clip_by_global_norm(inputs, 2);
    for (const Tensor& g : traced.gradients) tracer.output(g);
    tracer.output(traced.norm);
  }
  const auto outputs = plan::run_graph(tracer.finish(), {{"a", gradients[0]}, {"b", gradients[1]}},
                                       test::op_cases_device());
  EXPECT_EQ(as_doubles(outputs[0]), as_doubles(eager.gradients[0]));
  EXPECT_EQ(as_doubles(outputs[1]), as_doubles(eager.gradients[1]));
  EXPECT_EQ(as_doubles(outputs[2]), as_doubles(eager.norm));
}

TEST(Clip, BadLimitsAreRefused) {
  const Tensor x = from_doubles({1}, {1}, DType::f32);
  EXPECT_THROW(ops::clip_by_norm(x, 0), InvalidArgument);
  EXPECT_THROW(ops::clip_by_norm(x, std::nan("")), InvalidArgument);
  EXPECT_THROW(ops::clip_by_global_norm({&x, 1}, -1), InvalidArgument);
  EXPECT_THROW(ops::clip_by_value({&x, 1}, 2, 1), InvalidArgument);
  EXPECT_THROW(ops::global_norm({}), InvalidArgument);
}

}  // namespace
}  // namespace plimsoll
