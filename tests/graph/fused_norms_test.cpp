// Batch normalisation in the ops that a GPU has for it: fewer nodes, the same bits.
#include <plimsoll/graph/fused_norms.h>

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/plan/run_graph.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using graph::Graph;
using graph::Node;

int count_of(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op->name == op; }));
}

/// Two normalisations of x, and the gradients of what `combine` makes of them.
Graph trace(const Shape& shape, DType dtype, Layout layout,
            const std::function<Tensor(const Tensor& a, const Tensor& b, const Tensor& x)>& combine,
            bool train = true) {
  const std::int64_t channels = layout == Layout::channels_last ? shape.dim(-1) : shape[1];
  graph::Tracer tracer;
  std::vector<Tensor> parameters;
  for (std::uint64_t i = 0; i < 6; ++i) {
    Tensor p = test::random_tensor({channels}, 10 + i, std::min(dtype, DType::f32));
    if (i >= 4) p = ops::square(p);  // a variance
    parameters.push_back(p);
    tracer.bind(p, graph::Role::parameter, Tag::parameters, "p" + std::to_string(i));
  }
  const Tensor input = tracer.input("x", {DType::f32, shape});
  const Tensor dz = tracer.input("dz", {DType::f32, shape});
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  const Tensor x = ops::cast(input, dtype);
  std::vector<Tensor> watched(parameters.begin(), parameters.begin() + 4);
  watched.push_back(x);
  if (train) tape.watch(watched);
  const auto norm = [&](std::size_t first) {
    const Tensor& s = parameters[first];
    const Tensor& b = parameters[first + 1];
    const Tensor scaled = ops::scale(x, first == 0 ? 1.5 : -0.5);
    return train ? ops::batch_norm(scaled, s, b, 1e-5, layout).y
                 : ops::batch_norm_inference(scaled, s, b, parameters[4], parameters[5], 1e-5,
                                             layout);
  };
  const Tensor a = norm(0);
  const Tensor b = norm(2);
  const Tensor z = combine(a, b, x);
  tracer.output(z);
  if (train) {
    for (const Tensor& g : tape.gradient(z, watched, ops::cast(dz, dtype))) tracer.output(g);
  }
  return tracer.finish();
}

/// The fused graph, which has the bits of the other.
Graph rewritten(const Graph& before) {
  Graph after = graph::with_fused_norms(before);
  after.verify();
  std::map<std::string, Tensor> feeds;
  for (const graph::Value& value : before.values()) {
    if (value.role != graph::Role::input) continue;
    feeds.emplace(value.name,
                  test::random_tensor(value.type.shape, 30 + feeds.size(), value.type.dtype));
  }
  const Device& cpu = test::op_cases_device();
  const std::vector<Tensor> expected = plan::run_graph(before, feeds, cpu);
  const std::vector<Tensor> actual = plan::run_graph(after, feeds, cpu);
  EXPECT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::same_bits(actual[i], expected[i])) << "output " << i;
  }
  return after;
}

const std::vector<std::pair<Shape, Layout>> kShapes = {{{2, 5, 3, 24}, Layout::channels_last},
                                                       {{3, 7, 5, 4}, Layout::channels_first},
                                                       {{9, 600}, Layout::channels_last}};
constexpr std::array kDTypes = {DType::f64, DType::f32, DType::bf16, DType::f16};

TEST(FusedNorms, ARelusGradientNeedsNoResultOfIt) {
  for (const auto& [shape, layout] : kShapes) {
    for (const DType dtype : kDTypes) {
      SCOPED_TRACE(shape.to_string() + " " + std::string(dtype_name(dtype)));
      const Graph graph = rewritten(
          trace(shape, dtype, layout, [](const Tensor& a, const Tensor& b, const Tensor&) {
            return ops::mul(ops::relu(a), ops::relu(b));
          }));
      EXPECT_EQ(count_of(graph, "batch_norm_statistics"), 2) << graph.to_string();
      EXPECT_EQ(count_of(graph, "batch_norm_apply"), 2);
      EXPECT_EQ(count_of(graph, "batch_norm_relu_grad"), 2);
      for (const char* op : {"batch_norm", "batch_norm_grad", "relu", "relu_grad"}) {
        EXPECT_EQ(count_of(graph, op), 0) << op << "\n" << graph.to_string();
      }
    }
  }
}

TEST(FusedNorms, AResidualAndItsReluJoin) {
  for (const auto& [shape, layout] : kShapes) {
    for (const DType dtype : kDTypes) {
      SCOPED_TRACE(shape.to_string() + " " + std::string(dtype_name(dtype)));
      // z has two readers, so that its gradient is a sum.
      const Graph graph = rewritten(
          trace(shape, dtype, layout, [](const Tensor& a, const Tensor& b, const Tensor&) {
            const Tensor z = ops::relu(ops::add(a, b));
            return ops::mul(z, ops::sigmoid(z));
          }));
      EXPECT_EQ(count_of(graph, "batch_norm_apply"), 2) << graph.to_string();
      EXPECT_EQ(count_of(graph, "batch_norm_add_relu_grad"), 1);
      EXPECT_EQ(count_of(graph, "batch_norm_grad"), 1);  // of the other, which reads the relu's
      for (const char* op : {"batch_norm", "relu", "relu_grad"}) {
        EXPECT_EQ(count_of(graph, op), 0) << op << "\n" << graph.to_string();
      }
      const auto grad = std::ranges::find_if(graph.nodes(), [](const Node& node) {
        return node.op->name == "batch_norm_add_relu_grad";
      });
      EXPECT_EQ(grad->inputs.size(), 7U) << "the sum of gradients before it joins";
    }
  }
}

TEST(FusedNorms, WhatOthersReadStays) {
  const Graph graph = rewritten(trace({2, 4, 4, 8}, DType::bf16, Layout::channels_last,
                                      [](const Tensor& a, const Tensor& b, const Tensor& x) {
                                        // a is read twice; b has a sum that broadcasts; x is added
                                        // where it may.
                                        const Tensor wide = ops::add(b, ops::sum(x, {.axes = {0}}));
                                        return ops::add(ops::mul(a, ops::relu(a)), ops::relu(wide));
                                      }));
  EXPECT_EQ(count_of(graph, "relu"), 2) << graph.to_string();
  EXPECT_EQ(count_of(graph, "batch_norm_apply"), 2);
}

TEST(FusedNorms, InferenceIsFusedToo) {
  for (const DType dtype : kDTypes) {
    const Graph graph = rewritten(trace(
        {2, 5, 3, 24}, dtype, Layout::channels_last,
        [](const Tensor& a, const Tensor& b, const Tensor& x) {
          return ops::mul(ops::relu(ops::add(x, a)), b);
        },
        false));
    EXPECT_EQ(count_of(graph, "batch_norm_apply"), 1) << graph.to_string();
    EXPECT_EQ(count_of(graph, "batch_norm_inference"), 1);
    EXPECT_EQ(count_of(graph, "add") + count_of(graph, "relu"), 0);
  }
}

TEST(FusedNorms, StatisticsThatAreOverwrittenAreReadBefore) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {2, 3, 3, 8}});
  std::vector<Tensor> p;
  for (std::uint64_t i = 0; i < 4; ++i) {
    p.push_back(ops::square(test::random_tensor({8}, i)));
    tracer.bind(p.back(), graph::Role::state, Tag::parameters, "p" + std::to_string(i));
  }
  {
    const ops::DispatchScope scope(tracer);
    const Tensor y =
        ops::batch_norm_inference(x, p[0], p[1], p[2], p[3], 1e-5, Layout::channels_last);
    ops::assign(p[2], ops::scale(p[2], 0.5));
    tracer.output(ops::relu(y));
  }
  const Graph graph = graph::with_fused_norms(tracer.finish());
  graph.verify();
  EXPECT_EQ(count_of(graph, "relu"), 1) << graph.to_string();
}

TEST(FusedNorms, WholeModelsHaveNoReluBehindANormLeft) {
  for (const char* name : {"resnet18", "unet"}) {
    const auto model = nn::make_model(name, {});
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", model.input_type(2));
    const Tensor labels = tracer.input("y", model.target_type(2));
    {
      const ops::DispatchScope scope(tracer);
      std::vector<Tensor> parameters;
      for (const nn::Parameter& p : model.parameters()) parameters.push_back(p.value());
      ops::GradientTape tape;
      tape.watch(parameters);
      Tensor loss;
      {
        const ops::PrecisionScope precision(DType::bf16);
        loss = model.loss(x, labels);
      }
      tracer.output(loss);
      for (const Tensor& g : tape.gradient(loss, parameters)) tracer.output(g);
    }
    const Graph graph = graph::with_fused_norms(tracer.finish());
    graph.verify();
    for (const char* op : {"batch_norm", "relu", "relu_grad"}) {
      EXPECT_EQ(count_of(graph, op), 0) << name << " has " << op;
    }
  }
}

}  // namespace
}  // namespace plimsoll
