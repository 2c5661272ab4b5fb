#include <algorithm>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/ops/update.h>

#include "plan/step_model.h"
#include "support/own_device.h"

namespace plimsoll {
namespace {

/// Linear layers in bf16 with f32 parameters, trained by SGD; weights are [width, width].
struct Layers {
  Layers(int count, std::int64_t width, std::int64_t batch) {
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", {DType::bf16, {batch, width}});
    const Tensor rate = tracer.input("rate", {DType::f32, {}});
    std::vector<Tensor> parameters;
    const auto parameter = [&](const Shape& shape) {
      const Tensor made = Tensor::empty(shape, DType::f32, device);
      parameters.push_back(made);
      tracer.bind(made, graph::Role::parameter, Tag::parameters,
                  "p" + std::to_string(parameters.size()));
      return made;
    };
    for (int i = 0; i < count; ++i) {
      parameter({width, width});
      parameter({width});
    }
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    std::vector<Tensor> casts;
    Tensor h = x;
    for (const Tensor& p : parameters) {
      casts.push_back(ops::cast(p, DType::bf16));
      tape.watch(casts.back());
      if (casts.size() % 2 == 1) continue;
      h = ops::relu(ops::linear(h, casts[casts.size() - 2], casts.back()));
    }
    const Tensor loss = ops::mean(ops::cast(h, DType::f32));
    const auto gradients = tape.gradient(loss, casts);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      ops::sgd_update(parameters[i], {}, gradients[i], rate,
                      {.weight_decay = i % 2 == 0 ? 0.1 : 0});
    }
    tracer.output(loss);
    graph = std::make_shared<graph::Graph>(tracer.finish());
    graph->verify();
    order = plan::base_order(*graph);
  }

  const graph::Node& node(std::size_t position) const { return graph->node(order[position]); }
  bool is(std::size_t position, std::string_view op, std::int64_t elements) const {
    return node(position).op->name == op &&
           graph->value(node(position).inputs[0]).type.elements() == elements;
  }
  std::vector<std::size_t> all(std::string_view op, std::int64_t elements) const {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (is(i, op, elements)) positions.push_back(i);
    }
    return positions;
  }

  Device device = test::own_cpu({.limit = MiB(64)});
  std::shared_ptr<graph::Graph> graph;
  std::vector<graph::NodeId> order;
};

TEST(BaseOrder, IsAnOrderInWhichNodesCanRun) {
  const Layers layers(4, 320, 512);
  std::vector<bool> there(layers.graph->nodes().size(), false);
  ASSERT_EQ(layers.order.size(), there.size());
  for (const graph::NodeId id : layers.order) {
    const graph::Node& node = layers.graph->node(id);
    for (const graph::NodeId before : node.after)
      EXPECT_TRUE(there[static_cast<std::size_t>(before)]);
    for (const graph::ValueId v : node.inputs) {
      const graph::NodeId producer = layers.graph->value(v).producer;
      EXPECT_TRUE(producer == graph::kNone || there[static_cast<std::size_t>(producer)]);
    }
    EXPECT_FALSE(there[static_cast<std::size_t>(id)]);
    there[static_cast<std::size_t>(id)] = true;
  }
}

TEST(BaseOrder, SmallCastsComeFirstAndSmallUpdatesLast) {
  const Layers layers(4, 320, 512);  // weights of 100 Ki elements
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(layers.is(i, "cast", 320)) << i;
    EXPECT_TRUE(layers.is(layers.order.size() - 1 - i, "sgd_update", 320)) << i;
  }
  // Those of weights stay where they were: with the work.
  const auto updates = layers.all("sgd_update", 320 * 320);
  ASSERT_EQ(updates.size(), 4U);
  for (std::size_t i = 1; i < updates.size(); ++i) EXPECT_GT(updates[i], updates[i - 1] + 1);
  const auto casts = layers.all("cast", 320 * 320);
  for (std::size_t i = 1; i < casts.size(); ++i) EXPECT_GT(casts[i], casts[i - 1] + 1);
}

TEST(BaseOrder, AParameterIsUpdatedWhenNobodyReadsItsCastAnyMore) {
  // Until then the cast can be made again, so that nobody must keep it.
  const Layers layers(4, 320, 512);
  int read_by_gradients = 0;
  for (const std::size_t cast : layers.all("cast", 320 * 320)) {
    std::size_t last_read = cast;
    std::size_t update = 0;
    for (std::size_t i = 0; i < layers.order.size(); ++i) {
      const graph::Node& node = layers.node(i);
      for (const graph::ValueId v : node.inputs) {
        if (layers.graph->value(v).memory == layers.node(cast).outputs[0]) last_read = i;
      }
      if (node.op->name == "sgd_update" && node.inputs[0] == layers.node(cast).inputs[0])
        update = i;
    }
    EXPECT_GT(update, last_read);
    read_by_gradients += layers.node(last_read).backward ? 1 : 0;
  }
  EXPECT_EQ(read_by_gradients, 3);  // of all layers but the first
}

TEST(BaseOrder, WhatOnlyPreparesStateWaitsForTheGradient) {
  const Device device = test::own_cpu({.limit = MiB(16)});
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {64}});
  const Tensor weight = Tensor::empty({64}, DType::f32, device);
  const Tensor moment = Tensor::empty({64}, DType::i8, device);
  tracer.bind(weight, graph::Role::parameter, Tag::parameters, "weight");
  tracer.bind(moment, graph::Role::state, Tag::optimizer, "moment");
  {
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    tape.watch(weight);
    const Tensor loss = ops::mean(ops::square(ops::mul(x, weight)));
    const Tensor gradient = tape.gradient(loss, weight);
    const Tensor wide = ops::tanh(ops::cast(moment, DType::f32));
    const Tensor next = ops::add(wide, gradient);
    ops::assign(moment, ops::cast(next, DType::i8));
    ops::assign(weight, ops::sub(weight, next));
    tracer.output(loss);
  }
  const graph::Graph graph = tracer.finish();
  graph.verify();
  const std::vector<graph::NodeId> order = plan::base_order(graph);
  ASSERT_EQ(order.size(), graph.nodes().size());
  const auto position = [&](std::string_view op) {
    return std::ranges::find_if(order, [&](auto id) { return graph.node(id).op->name == op; }) -
           order.begin();
  };
  EXPECT_EQ(position("cast") + 1, position("tanh"));
  EXPECT_EQ(position("tanh") + 1, position("add"));
}

TEST(BaseOrder, NothingPilesUpThatCountsBesideTheStep) {
  // Gradients of 8 KiB against activations of 512 bytes: keeping them all would double the step.
  const Layers layers(8, 64, 4);
  const auto weights = layers.all("sgd_update", 64 * 64);
  ASSERT_EQ(weights.size(), 8U);
  for (std::size_t i = 1; i < weights.size(); ++i) EXPECT_GT(weights[i], weights[i - 1] + 1);
}

}  // namespace
}  // namespace plimsoll
