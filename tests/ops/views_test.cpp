// Views of tensors carry gradients, and are part of a trace.
#include <functional>
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
using View = std::function<Tensor(const Tensor&)>;

class Views : public ::testing::Test {
 protected:
  /// The gradient by x_ of half the squares of what `view` shows: what it shows, elsewhere zeros.
  std::vector<float> gradient(const View& view) const {
    GradientTape tape;
    tape.watch(x_);
    const Tensor seen = view(x_);
    const Tensor dx = tape.gradient(scale(sum(square(seen)), 0.5), x_);
    return dx.defined() ? dx.to_vector<float>() : std::vector<float>();
  }

  Device cpu_ = test::own_cpu({.limit = MiB(16)});
  Tensor x_ = Tensor::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}, cpu_);
};

TEST_F(Views, CarryTheGradientOfWhatTheyShow) {
  const auto all = ElementsAre(1, 2, 3, 4, 5, 6);
  EXPECT_THAT(gradient([](const Tensor& x) { return x.reshape({3, 2}); }), all);
  EXPECT_THAT(gradient([](const Tensor& x) { return x.transpose(0, 1); }), all);
  EXPECT_THAT(gradient([](const Tensor& x) { return x.permute({-1, 0}); }), all);
  EXPECT_THAT(gradient([](const Tensor& x) { return x.unsqueeze(-1).squeeze(); }), all);
  EXPECT_THAT(gradient([](const Tensor& x) { return x.slice(1, 1, 3); }),
              ElementsAre(0, 2, 3, 0, 5, 6));
  EXPECT_THAT(gradient([](const Tensor& x) { return x.slice(-1, 0, Tensor::kToEnd, 2); }),
              ElementsAre(1, 0, 3, 4, 0, 6));
  EXPECT_THAT(gradient([](const Tensor& x) { return x.slice(0, -1); }),
              ElementsAre(0, 0, 0, 4, 5, 6));
  EXPECT_THAT(gradient([](const Tensor& x) { return x.select(0, 1); }),
              ElementsAre(0, 0, 0, 4, 5, 6));
  EXPECT_THAT(gradient([](const Tensor& x) { return x.select(1, -1); }),
              ElementsAre(0, 0, 3, 0, 0, 6));
  EXPECT_THAT(
      gradient([](const Tensor& x) { return x.transpose(0, 1).reshape({6}).slice(0, 0, 2); }),
      ElementsAre(1, 0, 0, 4, 0, 0));
}

TEST_F(Views, OfWhatNoTapeFollowsShareTheMemory) {
  GradientTape tape;
  const Tensor row = x_.select(0, 1);
  EXPECT_EQ(row.storage(), x_.storage());
  tape.watch(x_);
  tape.stop();
  EXPECT_EQ(x_.reshape({6}).storage(), x_.storage());
}

TEST_F(Views, ThatCannotBeAreRefusedUnderATapeAsElsewhere) {
  GradientTape tape;
  tape.watch(x_);
  EXPECT_THROW((void)x_.reshape({4}), InvalidArgument);
  EXPECT_THROW((void)x_.slice(0, 1, 5), InvalidArgument);
  EXPECT_THROW((void)x_.permute({0, 0}), InvalidArgument);
  EXPECT_THROW((void)x_.squeeze(0), InvalidArgument);
}

TEST_F(Views, NestedTapesFollowThemBoth) {
  GradientTape outer;
  outer.watch(x_);
  Tensor dx;
  {
    GradientTape inner;
    inner.watch(x_);
    const Tensor row = x_.select(0, 0);
    dx = inner.gradient(sum(mul(mul(row, row), row)), x_);
  }
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(3, 12, 27, 0, 0, 0));
  EXPECT_THAT(outer.gradient(sum(dx), x_).to_vector<float>(), ElementsAre(6, 12, 18, 0, 0, 0));
}

TEST_F(Views, WithinATraceAreNodesOfTheGraph) {
  graph::Tracer tracer;
  const Tensor input = tracer.input("x", {DType::f32, Shape{2, 3}});
  {
    const DispatchScope scope(tracer);
    GradientTape tape;
    tape.watch(input);
    const Tensor y = sum(square(input.transpose(0, 1).slice(0, 1).reshape({4})));
    tracer.output(y);
    const Tensor dx = tape.gradient(y, input);
    ASSERT_TRUE(dx.defined());
    EXPECT_EQ(dx.shape(), input.shape());
  }
  std::vector<std::string> names;
  const graph::Graph graph = tracer.finish();
  for (const graph::Node& node : graph.nodes()) names.emplace_back(node.op->name);
  EXPECT_THAT(names, ElementsAre("transpose", "slice", "reshape", "square", "sum"));
}

TEST_F(Views, OfAParameterWithinATraceAreNoConstants) {
  graph::Tracer tracer;
  tracer.bind(x_, graph::Role::parameter, Tag::parameters, "w");
  {
    const DispatchScope scope(tracer);
    tracer.output(square(x_.transpose(0, 1)));
  }
  const graph::Graph graph = tracer.finish();
  for (const graph::Value& value : graph.values()) EXPECT_NE(value.role, graph::Role::constant);
}

TEST_F(Views, OutsideItsTraceAValueHasNone) {
  graph::Tracer tracer;
  const Tensor input = tracer.input("x", {DType::f32, Shape{2, 3}});
  EXPECT_THAT([&] { (void)input.reshape({6}); },
              ::testing::ThrowsMessage<InvalidArgument>(::testing::HasSubstr("has no data")));
}

}  // namespace
}  // namespace plimsoll::ops
