// Variables: what reading one tells tapes and traces.
#include <plimsoll/ops/variable.h>

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/default_device.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/plan/run_graph.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VariableTest : public ::testing::Test {
 protected:
  Tensor of(std::initializer_list<float> values) {
    return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, device_,
                               {.label = "weights of classes"});
  }

  Device device_ = test::own_cpu({.limit = MiB(16)});
};

TEST_F(VariableTest, CopiesAreTheSameVariable) {
  const Variable a(of({1, 2}), {.name = "a"});
  const Variable b = a;
  b.assign(of({3, 4}));
  EXPECT_THAT(a.tensor().to_vector<float>(), ElementsAre(3, 4));
  b.set_trainable(false);
  EXPECT_FALSE(a.trainable());
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == Variable(of({3, 4})));
}

TEST_F(VariableTest, ATapeFollowsWhatIsReadAndTrainable) {
  const Variable w(of({1, 2}), {.name = "w"});
  const Variable frozen(of({5, 7}), {.name = "frozen", .trainable = false});
  ops::GradientTape tape;
  const Tensor loss = ops::sum(ops::mul(ops::mul(w, frozen), w));
  const ops::Gradients gradients = tape.gradient(loss, {w, frozen});
  EXPECT_THAT(gradients.of(w).to_vector<float>(), ElementsAre(10, 28));
  EXPECT_FALSE(gradients.of(frozen).defined());
}

TEST_F(VariableTest, ATapeAddsUpSeveralTargetsWithTheirSeeds) {
  const Tensor x = of({2, 3});
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor square = ops::mul(x, x);
  const std::vector<Tensor> targets = {square, ops::mul(square, x), square};
  const std::vector<Tensor> sources = {x, square};
  const std::vector<Tensor> seeds = {of({1, 10}), of({1, -1}), of({2, 0})};
  const std::vector<Tensor> found = tape.gradient(targets, sources, seeds);
  EXPECT_THAT(found[0].to_vector<float>(), ElementsAre(3 * 4 + 12, 10 * 6 - 27));
  EXPECT_THAT(found[1].to_vector<float>(), ElementsAre(3 + 2, 10 - 3));
  EXPECT_THROW(ops::GradientTape().gradient(targets, sources, std::vector<Tensor>{seeds[0]}),
               InvalidArgument);
}

TEST_F(VariableTest, AStoppedTapeMayGoAfterOneThatWasMadeLater) {
  const Variable w(of({2, 3}), {.name = "w"});
  auto first = std::make_unique<ops::GradientTape>();
  const Tensor before = ops::sum(ops::mul(w, w));
  first->stop();
  ops::GradientTape second;
  EXPECT_THAT(first->gradient(before, w).to_vector<float>(), ElementsAre(4, 6));
  first.reset();
  const Tensor after = ops::sum(ops::mul(w, w));
  EXPECT_THAT(second.gradient(after, w).to_vector<float>(), ElementsAre(4, 6));
}

TEST_F(VariableTest, NestedTapesFollowItEach) {
  const Variable w(of({3}), {.name = "w"});
  ops::GradientTape outer;
  Tensor dw;
  {
    ops::GradientTape inner;
    const Tensor cube = ops::mul(ops::mul(w, w), w);
    dw = inner.gradient(cube, w);
  }
  EXPECT_THAT(dw.to_vector<float>(), ElementsAre(27));
  EXPECT_THAT(outer.gradient(dw, w).to_vector<float>(), ElementsAre(18));
}

TEST_F(VariableTest, ATraceBindsItAsStateAndWritesItInPlace) {
  const Variable w(of({1, 2}), {.name = "w"});
  const Variable count(of({0, 0}), {.name = "count", .trainable = false});
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {2}});
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(ops::mul(x, w));
    count.assign(ops::shift(count, 1));
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();
  ASSERT_EQ(tracer.variables().size(), 2U);
  EXPECT_EQ(graph.value(tracer.variables()[0].first).role, graph::Role::parameter);
  EXPECT_EQ(graph.value(tracer.variables()[0].first).name, "w");
  EXPECT_EQ(graph.value(tracer.variables()[1].first).role, graph::Role::state);
  for (int i = 1; i <= 3; ++i) {
    w.assign(of({static_cast<float>(i), 2}));
    const auto y = plan::run_graph(graph, {{"x", of({10, 10})}}, device_)[0].to_vector<float>();
    EXPECT_THAT(y, ElementsAre(10.0F * static_cast<float>(i), 20));
    EXPECT_THAT(count.tensor().to_vector<float>(), ElementsAre(i, i));
  }
}

TEST_F(VariableTest, APlainTensorInATraceIsAConstantThatPlansNameWithItsBytes) {
  const Tensor plain = of({1, 2, 3});
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {3}});
  {
    const ops::DispatchScope scope(tracer);
    tracer.output(ops::mul(x, plain));
  }
  const auto graph = std::make_shared<graph::Graph>(tracer.finish());
  EXPECT_THAT(graph->to_string(), HasSubstr("constant weights of classes f32 [3], 12 B"));
  plan::Planner planner(graph, {});
  EXPECT_THAT(planner.largest().explain(),
              HasSubstr("constant weights of classes, f32 [3]: 12 B, captured by the trace"));
}

TEST_F(VariableTest, DeclaredOnesTakeNoMemoryUntilTheyAreRead) {
  const Variable w = Variable::declare(
      {DType::f32, {2}}, {.name = "w", .initial = [](const Variable& v, const Device& device) {
                            return Tensor::zeros(v.type().shape, v.type().dtype, device);
                          }});
  EXPECT_FALSE(w.has_data());
  EXPECT_EQ(device_.arena().stats().live, 0U);
  {
    const DefaultDevice here(device_);
    EXPECT_THAT(ops::shift(w, 1).to_vector<float>(), ElementsAre(1, 1));
  }
  EXPECT_EQ(w.tensor().device(), device_);
  w.release();
  EXPECT_FALSE(w.has_data());
  EXPECT_EQ(device_.arena().stats().live, 0U);
}

TEST_F(VariableTest, MistakesAreNamed) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const Variable w(of({1}), {.name = "w"});
  EXPECT_THAT(message([&] {
                w.set_tensor(of({1, 2}));
              }),
              HasSubstr("w is f32 [1]; f32 [2] cannot be its data"));
  EXPECT_THAT(message([] { Variable(Tensor(), {.name = "empty"}); }),
              HasSubstr("empty starts from"));
  const Variable none = Variable::declare({DType::f32, {1}}, {.name = "none"});
  EXPECT_THAT(message([&] { none.materialize(device_); }), HasSubstr("none has no data"));
  EXPECT_THAT(message([] { Variable().name(); }), HasSubstr("undefined"));
}

}  // namespace
}  // namespace plimsoll
