// Moving and copying carry gradients.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>

#include "support/own_device.h"

namespace plimsoll::ops {
namespace {

using ::testing::ElementsAre;

class Copies : public ::testing::Test {
 protected:
  Device cpu_ = test::own_cpu({.limit = MiB(16)});
  Device other_ = test::own_cpu({.limit = MiB(16)});
  Tensor x_ = Tensor::from_values<float>({1, 2, 3}, {3}, cpu_);
};

TEST_F(Copies, AClonesGradientIsThatOfTheOriginal) {
  GradientTape tape;
  tape.watch(x_);
  const Tensor dx = tape.gradient(sum(square(x_.clone())), x_);
  ASSERT_TRUE(dx.defined());
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(2, 4, 6));
}

TEST_F(Copies, GradientsComeBackToWhereTheTensorIs) {
  GradientTape tape;
  tape.watch(x_);
  const Tensor there = scale(x_, 2).to(other_);
  ASSERT_EQ(there.device(), other_);
  // Both ways add up.
  const Tensor back = square(there).to(cpu_);
  const Tensor dx = tape.gradient(sum(add(back, x_)), x_);
  ASSERT_TRUE(dx.defined());
  EXPECT_EQ(dx.device(), cpu_);
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(9, 17, 25));
}

TEST_F(Copies, AContiguousCopyCarriesThem) {
  // A view that is watched itself.
  const Tensor matrix = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, cpu_);
  const Tensor column = matrix.select(1, 1);
  GradientTape tape;
  tape.watch(column);
  const Tensor dense = column.contiguous();
  ASSERT_NE(dense.id(), column.id());
  const Tensor d = tape.gradient(sum(square(dense)), column);
  ASSERT_TRUE(d.defined());
  EXPECT_THAT(d.to_vector<float>(), ElementsAre(4, 8));
}

TEST_F(Copies, OpsThatCopyTheirInputsThemselvesAreRecordedOnce) {
  const Tensor matrix = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, cpu_);
  const Tensor column = matrix.select(1, 0);
  GradientTape tape;
  tape.watch(column);
  EXPECT_THAT(tape.gradient(sum(square(column)), column).to_vector<float>(), ElementsAre(2, 6));
}

TEST_F(Copies, NestedTapesEachRecordThem) {
  GradientTape outer;
  outer.watch(x_);
  Tensor dx;
  {
    GradientTape inner;
    inner.watch(x_);
    const Tensor there = x_.to(other_);
    const Tensor cube = mul(mul(there, there), x_.to(other_));
    dx = inner.gradient(sum(cube), x_);
  }
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(3, 12, 27));
  EXPECT_THAT(outer.gradient(sum(dx), x_).to_vector<float>(), ElementsAre(6, 12, 18));
}

TEST_F(Copies, AfterStopTheyAreNotFollowed) {
  GradientTape tape({.persistent = true});
  tape.watch(x_);
  const Tensor y = sum(square(x_));
  tape.stop();
  const Tensor copy = x_.clone();
  EXPECT_FALSE(tape.gradient(y, copy).defined());
}

TEST_F(Copies, AViewThatATapeFollowsCanBeAConstantOfATrace) {
  const Tensor matrix = Tensor::from_values<float>({1, 2, 3, 4}, {2, 2}, cpu_);
  const Tensor column = matrix.select(1, 1);
  graph::Tracer tracer;
  const DispatchScope scope(tracer);
  GradientTape tape;
  tape.watch(column);
  EXPECT_TRUE(tape.gradient(sum(square(column)), column).defined());
}

TEST_F(Copies, WithinATraceAreTheValueItself) {
  graph::Tracer tracer;
  const Tensor input = tracer.input("x", {DType::f32, Shape{3}});
  const DispatchScope scope(tracer);
  EXPECT_EQ(input.contiguous().id(), input.id());
  EXPECT_EQ(input.clone().id(), input.id());
  EXPECT_EQ(input.to(cpu_).id(), input.id());
  EXPECT_EQ(square(input).clone().type(), input.type());
}

TEST_F(Copies, OfAParameterWithinATraceAreRefusedByName) {
  graph::Tracer tracer;
  tracer.bind(x_, graph::Role::parameter, Tag::parameters, "w");
  const DispatchScope scope(tracer);
  const auto refused = ::testing::ThrowsMessage<InvalidArgument>(
      ::testing::AllOf(::testing::HasSubstr("within a trace"), ::testing::HasSubstr("of w ")));
  EXPECT_THAT([&] { (void)x_.clone(); }, refused);
  GradientTape tape;
  tape.watch(x_);
  EXPECT_THAT([&] { (void)x_.clone(); }, refused);
}

TEST_F(Copies, OutsideItsTraceAValueHasNothingToCopy) {
  graph::Tracer tracer;
  const Tensor input = tracer.input("x", {DType::f32, Shape{3}});
  EXPECT_THAT([&] { (void)input.clone(); },
              ::testing::ThrowsMessage<InvalidArgument>(::testing::HasSubstr("has no data")));
}

}  // namespace
}  // namespace plimsoll::ops
