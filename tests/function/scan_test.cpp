#include <plimsoll/function/scan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/recurrent.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/scan.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/variable.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/trainer.h>

#include "support/op_checks.h"
#include "support/random_training.h"
#include "support/recorded.h"

namespace plimsoll {
namespace {

using test::complaint;
using test::random_tensor;
using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

/// An Elman cell with a second state and a y; shared: two matrices.
ScanStep cell(const Tensors& states, const Tensors& xs, const Tensors& shared) {
  const Tensor h = ops::tanh(ops::add(ops::matmul(states[0], shared[0]), xs[0]));
  const Tensor sum = ops::add(states[1], ops::square(h));
  return {.states = {h, sum}, .ys = {ops::matmul(ops::mul(h, states[1]), shared[1])}};
}

/// The same as a loop that is unrolled.
Tensors unrolled(const Tensors& in, bool reverse) {
  const std::int64_t steps = in[2].dim(0);
  Tensors states = {in[0], in[1]};
  Tensors h(static_cast<std::size_t>(steps));
  Tensors y(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = reverse ? steps - 1 - i : i;
    const Tensor x = ops::reshape(ops::slice(in[2], 0, t, t + 1), Shape{2, 4});
    const ScanStep after = cell(states, {x}, {in[3], in[4]});
    states = after.states;
    h[static_cast<std::size_t>(t)] = after.states[0];
    y[static_cast<std::size_t>(t)] = after.ys[0];
  }
  return {ops::stack(h, 0), ops::stack(y, 0), states[1]};
}

Tensors scanned(const Tensors& in, bool reverse) {
  const ScanResult result =
      scan(cell, {in[0], in[1]}, {in[2]}, {in[3], in[4]}, {.reverse = reverse});
  return {result.states[0], result.ys[0], result.last[1]};
}

Tensors inputs(DType dtype) {
  return {random_tensor({2, 4}, 1, dtype), random_tensor({2, 4}, 2, dtype),
          random_tensor({6, 2, 4}, 3, dtype), random_tensor({4, 4}, 4, dtype),
          random_tensor({4, 4}, 5, dtype)};
}

/// The gradients of all results, weighed by themselves.
Tensors gradients(const Tensors& in, const std::function<Tensors(const Tensors&)>& function) {
  ops::GradientTape tape;
  tape.watch(in);
  Tensor total;
  for (const Tensor& y : function(in)) {
    const Tensor term = ops::sum(ops::mul(y, ops::sin(y)));
    total = total.defined() ? ops::add(total, term) : term;
  }
  return tape.gradient(total, in);
}

TEST(Scan, EqualsTheUnrolledLoop) {
  for (const bool reverse : {false, true}) {
    const Tensors in = inputs(DType::f64);
    const Tensors expected = unrolled(in, reverse);
    const Tensors actual = scanned(in, reverse);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::same_bits(actual[i], expected[i])) << "result " << i;
    }
    const auto loop = [&](const Tensors& x) { return unrolled(x, reverse); };
    const auto op = [&](const Tensors& x) { return scanned(x, reverse); };
    const Tensors by_loop = gradients(in, loop);
    const Tensors by_op = gradients(in, op);
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_LT(test::distance(by_op[i], by_loop[i]), 1e-12) << "gradient " << i;
    }
    test::expect_gradients(op, in);
  }
}

TEST(Scan, IsANodeWhateverTheSteps) {
  std::vector<std::size_t> nodes;
  for (const std::int64_t steps : {2, 256}) {
    graph::Tracer tracer;
    const Tensors in = {
        tracer.input("h", {DType::f32, {2, 4}}), tracer.input("s", {DType::f32, {2, 4}}),
        tracer.input("x", {DType::f32, {steps, 2, 4}}), tracer.input("w", {DType::f32, {4, 4}}),
        tracer.input("v", {DType::f32, {4, 4}})};
    const ops::DispatchScope scope(tracer);
    for (const Tensor& g : gradients(in, [](const Tensors& x) { return scanned(x, false); })) {
      tracer.output(g);
    }
    const graph::Graph graph = tracer.finish();
    graph.verify();
    nodes.push_back(graph.nodes().size());
  }
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_LT(nodes[1], 60U);
}

TEST(Scan, ReadsVariables) {
  const Tensor x = random_tensor({5, 4}, 1, DType::f64);
  const Variable w(random_tensor({4}, 2, DType::f64));
  const Tensor known = random_tensor({4}, 3, DType::f64);
  ops::GradientTape tape;
  const ScanResult result = scan(
      [&](const Tensors& states, const Tensors& xs, const Tensors&) -> ScanStep {
        return {.states = {ops::add(ops::mul(states[0], known), ops::mul(xs[0], w.value()))}};
      },
      {known}, {x});
  const Tensor gradient = tape.gradient(ops::sum(result.last[0]), w);
  // s_t = k s_(t-1) + w x_t, so that the derivative by w goes the same way.
  Tensor expected = ops::zeros_like(known);
  for (std::int64_t t = 0; t < 5; ++t) {
    expected =
        ops::add(ops::mul(expected, known), ops::reshape(ops::slice(x, 0, t, t + 1), Shape{4}));
  }
  EXPECT_LT(test::distance(gradient, expected), 1e-12);
}

TEST(Scan, LayersGiveWhatUnrolledOnesGive) {
  // A state of 2 * 5 f32 is not a multiple of 16 bytes and is unrolled; one of 4 * 5 is not.
  const nn::LSTM lstm(5, {.in = 3, .bidirectional = true});
  const Tensor x = random_tensor({4, 7, 3}, 1);
  lstm.materialize(x.device(), 1);
  const Tensor all = lstm(x);
  for (const std::int64_t first : {0, 2}) {
    const Tensor half = lstm(x.slice(0, first, first + 2).contiguous());
    EXPECT_LT(test::distance(half, all.slice(0, first, first + 2).contiguous()), 1e-6);
  }
}

/// The ops of each scan of a training step of `layer`, forward and back.
std::vector<std::vector<std::string>> ops_of_scans(const nn::Recurrent& layer) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {4, 7, 3}});
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  const ops::Gradients gradients = tape.gradient(ops::sum(layer(x)), layer);
  for (const Tensor& gradient : gradients.tensors) tracer.output(gradient);
  std::vector<std::vector<std::string>> all;
  const graph::Graph graph = tracer.finish();
  for (const graph::Node& node : graph.nodes()) {
    if (node.op->name != "scan") continue;
    all.emplace_back();
    for (const auto& step : ops::body_of(node.attributes.integer("body")).nodes) {
      all.back().emplace_back(step.op->name);
    }
  }
  return all;
}

TEST(Scan, GradientsOfLayersComputeNoProductAgain) {
  using ::testing::ElementsAre;
  const nn::LSTM lstm(4, {.in = 3});
  const nn::GRU gru(4, {.in = 3, .bias = false});
  const nn::SimpleRNN rnn(4, {.in = 3});
  EXPECT_THAT(ops_of_scans(lstm), ElementsAre(ElementsAre("linear", "lstm_cell"),
                                              ElementsAre("add", "lstm_cell_grad", "matmul")));
  EXPECT_THAT(ops_of_scans(gru), ElementsAre(ElementsAre("linear", "gru_cell"),
                                             ElementsAre("add", "gru_cell_grad", "matmul", "add")));
  EXPECT_THAT(ops_of_scans(rnn), ElementsAre(ElementsAre("linear", "add", "tanh"),
                                             ElementsAre("add", "tanh_grad", "matmul")));
}

TEST(Scan, WithoutATapeLayersKeepNoGates) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {4, 7, 3}});
  const ops::DispatchScope scope(tracer);
  tracer.output(nn::LSTM(4, {.in = 3})(x));
  const graph::Graph graph = tracer.finish();
  for (const graph::Node& node : graph.nodes()) {
    if (node.op->name != "scan") continue;
    EXPECT_EQ(node.outputs.size(), 2U);
  }
}

TEST(Scan, LossesDoNotDependOnTheBudget) {
  const auto model = [] {
    return nn::lstm_lm({.vocabulary = 50,
                        .context = 24,
                        .features = 16,
                        .hidden = 16,
                        .layers = 2,
                        .dropout = 0.1});
  };
  test::check_budgets(
      [&] {
        return train::Trainer(model(), optim::sgd({.lr = 0.5, .momentum = 0.9}),
                              {.allow_split = false});
      },
      test::any_data(model(), 50, 32), 8, 4, 5);
}

TEST(Scan, OfNoStepsLeavesTheStatesAsTheyWere) {
  const Tensor h = random_tensor({2, 4}, 1);
  const Tensor w = random_tensor({4, 4}, 2);
  const auto step = [](const Tensors& states, const Tensors& xs,
                       const Tensors& shared) -> ScanStep {
    const Tensor next = ops::tanh(ops::add(ops::matmul(states[0], shared[0]), xs[0]));
    return {.states = {next}, .ys = {ops::sum(next, {.axes = {1}})}};
  };
  for (const bool reverse : {false, true}) {
    ops::GradientTape tape;
    tape.watch(std::vector<Tensor>{h, w});
    const Tensor none = Tensor::empty({0, 2, 4}, DType::f32, h.device());
    const ScanResult result = scan(step, {h}, {none}, {w}, {.reverse = reverse});
    EXPECT_TRUE(test::same_bits(result.last[0], h));
    EXPECT_EQ(result.states[0].shape(), Shape({0, 2, 4}));
    EXPECT_EQ(result.ys[0].type(), (TensorType{DType::f32, {0, 2}}));
    const auto gradients =
        tape.gradient(ops::sum(ops::square(result.last[0])), std::vector<Tensor>{h, w});
    EXPECT_TRUE(test::same_bits(gradients[0], ops::scale(h, 2)));
    EXPECT_FALSE(gradients[1].defined());
  }
  const auto same = [](const Tensors& states, const Tensors&, const Tensors&) -> ScanStep {
    return {.states = states};
  };
  EXPECT_TRUE(test::same_bits(scan(same, {h}, {}, {}, {.steps = 0}).last[0], h));
  // A step is looked at even if it never runs.
  EXPECT_THAT(complaint([&] {
                scan([](const Tensors& states, const Tensors&,
                        const Tensors&) -> ScanStep { return {.states = {ops::sum(states[0])}}; },
                     {h}, {}, {}, {.steps = 0});
              }),
              HasSubstr("before a step"));
}

TEST(Scan, SaysWhatDoesNotFit) {
  const Tensor h = random_tensor({4}, 1);
  const Tensor x = random_tensor({3, 4}, 2);
  const auto run = [&](const ScanFunction& f, const Tensors& xs) {
    return complaint([&] { scan(f, {h}, xs); });
  };
  const auto same = [](const Tensors& states, const Tensors&, const Tensors&) -> ScanStep {
    return {.states = states};
  };
  EXPECT_THAT(run(same, {x, random_tensor({2, 4}, 3)}), HasSubstr("and as many"));
  EXPECT_THAT(run(same, {}), HasSubstr("steps is -1; give the number of steps"));
  EXPECT_THAT(run([](const Tensors& states, const Tensors&,
                     const Tensors&) -> ScanStep { return {.states = {ops::sum(states[0])}}; },
                  {x}),
              HasSubstr("state 0 is f32 [4] before a step and f32 [] after it"));
  EXPECT_THAT(
      run([](const Tensors& states, const Tensors&,
             const Tensors&) -> ScanStep { return {.states = {ops::dropout(states[0], 0.5)}}; },
          {x}),
      HasSubstr("draws random numbers"));
  // What a step only hands on is there for every step.
  EXPECT_EQ(scan(same, {h}, {x}).states[0].shape(), Shape({3, 4}));
}

}  // namespace
}  // namespace plimsoll
