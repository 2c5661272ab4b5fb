// Which tasks of a plan one launch may stand for: by patterns, and by where the plan has put what.
// Nothing here needs a GPU.
#include "plan/fused_launches.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/train/trainer.h>

namespace plimsoll {
namespace {

std::vector<const ops::FusedPattern*> all_patterns() {
  std::vector<const ops::FusedPattern*> patterns;
  for (const ops::FusedPattern& pattern : ops::fused_patterns()) patterns.push_back(&pattern);
  return patterns;
}

std::vector<plan::FusedLaunch> fused(const plan::Plan& plan) {
  return plan::fused_launches(plan, all_patterns());
}

/// Launches and the tasks in them, by pattern.
struct Count {
  int launches = 0;
  std::size_t tasks = 0;
};
std::map<std::string, Count> counts(const plan::Plan& plan) {
  std::map<std::string, Count> by_name;
  for (const plan::FusedLaunch& launch : fused(plan)) {
    Count& count = by_name[std::string(launch.pattern->name)];
    ++count.launches;
    count.tasks += launch.count;
  }
  return by_name;
}

int tasks_of(const plan::Plan& plan, std::string_view op) {
  int count = 0;
  for (const plan::PlannedTask& task : plan.tasks) {
    count += plan.graph->node(task.node).op->name == op ? 1 : 0;
  }
  return count;
}

class FusedLaunches : public ::testing::Test {
 protected:
  /// One step of `model` in bf16 with AdamW, as planned for an H200 with ample memory.
  static plan::Plan step_of(nn::Model model, std::int64_t batch) {
    train::Trainer trainer(std::move(model), optim::adamw({.lr = 1e-3}),
                           {.precision = DType::bf16, .allow_split = false});
    const auto plan = trainer.plan({.batch = batch}, plan::describe_device("h200"));
    return *plan.phases.front().steps.front();
  }

  static plan::Plan planned(const graph::Tracer& tracer) {
    auto graph = std::make_shared<graph::Graph>(tracer.finish());
    graph->verify();
    plan::Planner planner(graph, {.device = plan::describe_device("h200")});
    return planner.largest();
  }

  /// relu(add(a, b)) normalised; `more` is what else is to be there at the end: the sum.
  static plan::Plan add_and_norm(const Shape& shape, DType dtype, bool more = false,
                                 const Shape& b_shape = {}) {
    graph::Tracer tracer;
    const Tensor a = tracer.input("a", {dtype, shape});
    const Tensor b = tracer.input("b", {dtype, b_shape.rank() == 0 ? shape : b_shape});
    const Tensor scale = tracer.input("scale", {DType::f32, {shape.dim(-1)}});
    const ops::DispatchScope scope(tracer);
    const Tensor sum = ops::add(ops::relu(a), ops::relu(b));
    tracer.output(ops::relu(ops::layer_norm(sum, scale)));
    if (more) tracer.output(sum);
    return planned(tracer);
  }
};

TEST_F(FusedLaunches, AVisionTransformersStep) {
  const plan::Plan plan = step_of(nn::make_model("vit_b16", {}), 128);
  const auto found = counts(plan);
  // The first norm follows an add that broadcasts, the last one a slice.
  EXPECT_EQ(found.at("add, norm").launches, 23);
  EXPECT_EQ(found.at("norm_grad, add").launches, 24);
  EXPECT_EQ(found.at("updates").launches, 1);
  EXPECT_GE(found.at("updates").tasks, 100U);
  EXPECT_EQ(found.at("casts").launches, 1);
  EXPECT_GE(found.at("casts").tasks, 48U);
  EXPECT_EQ(tasks_of(plan, "layer_norm_grad"), 25);
}

TEST_F(FusedLaunches, ALanguageModelsStep) {
  const auto found = counts(step_of(nn::gpt2({.dropout = 0}), 16));
  EXPECT_EQ(found.at("add, norm").launches, 24);
  EXPECT_EQ(found.at("norm_grad, add").launches, 24);
  EXPECT_EQ(found.at("updates").launches, 1);
  EXPECT_EQ(found.at("casts").launches, 1);
}

TEST_F(FusedLaunches, NoPatternsNoLaunches) {
  const plan::Plan plan = add_and_norm({64, 128}, DType::f32);
  EXPECT_TRUE(plan::fused_launches(plan, {}).empty());
  EXPECT_EQ(fused(plan).size(), 1U);
}

TEST_F(FusedLaunches, WhatIsHandedOnIsWrittenOnlyForOthers) {
  EXPECT_FALSE(fused(add_and_norm({64, 128}, DType::f32)).at(0).between);
  EXPECT_TRUE(fused(add_and_norm({64, 128}, DType::f32, true)).at(0).between);
}

TEST_F(FusedLaunches, RowsThatKernelsDoNotHoldStayApart) {
  EXPECT_EQ(fused(add_and_norm({4, 8192}, DType::bf16)).size(), 1U);
  EXPECT_EQ(fused(add_and_norm({4, 8200}, DType::bf16)).size(), 0U);
  EXPECT_EQ(fused(add_and_norm({64, 100}, DType::bf16)).size(), 0U);
  EXPECT_EQ(fused(add_and_norm({64, 100}, DType::f32)).size(), 1U);
  EXPECT_EQ(fused(add_and_norm({0, 128}, DType::f32)).size(), 0U);
  EXPECT_EQ(fused(add_and_norm({64, 128}, DType::f32, false, {1, 128})).size(), 0U);
}

/// The add and the norm of add_and_norm, and its plan, to be moved about.
struct Moved {
  explicit Moved(plan::Plan p) : plan(std::move(p)) {
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      if (plan.graph->node(plan.tasks[t].node).op->name == "add") add = t;
    }
  }
  plan::PlannedTask& sum() { return plan.tasks.at(add); }
  plan::PlannedTask& norm() { return plan.tasks.at(add + 1); }

  plan::Plan plan;
  std::size_t add = 0;
};

TEST_F(FusedLaunches, AResultOverAnEarlierInputMustLieExactlyOnIt) {
  Moved moved(add_and_norm({64, 128}, DType::f32));
  ASSERT_EQ(fused(moved.plan).size(), 1U);
  // Apart from everything.
  for (plan::Place& place : moved.sum().inputs) place.offset += MiB(1);
  moved.norm().outputs[0].offset = MiB(4);
  EXPECT_EQ(fused(moved.plan).size(), 1U);
  for (const std::size_t input : {0U, 1U}) {
    const Bytes place = moved.sum().inputs[input].offset;
    moved.norm().outputs[0].offset = place;
    EXPECT_EQ(fused(moved.plan).size(), 1U);
    moved.norm().outputs[0].offset = place + 256;
    EXPECT_EQ(fused(moved.plan).size(), 0U);
    moved.norm().outputs[0].offset = place - 256;
    EXPECT_EQ(fused(moved.plan).size(), 0U);
  }
}

TEST_F(FusedLaunches, AResultOverAnInputOfAnotherSizeIsNoRow) {
  // The norm's result where the add's input was, which has as many bytes but other rows: no such
  // plan comes from the op's rules, so its types are changed by hand.
  Moved moved(add_and_norm({64, 128}, DType::f32));
  auto graph = std::make_shared<graph::Graph>(*moved.plan.graph);
  const Bytes place = moved.sum().inputs[0].offset = MiB(1);
  moved.norm().outputs[0].offset = place;
  ASSERT_EQ(fused(moved.plan).size(), 1U);
  auto& value =
      const_cast<graph::Value&>(graph->value(moved.plan.tasks[moved.add + 1].outputs[0].value));
  value.type = {DType::bf16, {128, 128}};
  moved.plan.graph = graph;
  EXPECT_EQ(fused(moved.plan).size(), 0U);
}

TEST_F(FusedLaunches, ACopyThatBeginsOrIsNeededInBetweenKeepsThemApart) {
  Moved moved(add_and_norm({64, 128}, DType::f32));
  const auto at = static_cast<int>(moved.add);
  const plan::Place sum = moved.sum().outputs[0];
  const auto launches = [&](int begins, int needed) {
    moved.plan.copies = {{.out = true, .place = sum, .begins = begins, .needed = needed}};
    return fused(moved.plan).size();
  };
  EXPECT_EQ(launches(at, at + 2), 1U);
  EXPECT_EQ(launches(at + 1, at + 2), 0U);
  EXPECT_EQ(launches(at - 1, at + 1), 0U);
  EXPECT_EQ(launches(at + 2, at + 3), 1U);
}

TEST_F(FusedLaunches, WorkspaceOfItsOwnKeepsTheSecondApart) {
  Moved moved(add_and_norm({64, 128}, DType::f32));
  moved.norm().workspace = 256;
  moved.norm().workspace_offset = MiB(8);
  EXPECT_EQ(fused(moved.plan).size(), 0U);
}

TEST_F(FusedLaunches, AGradientsSumsAreNotWrittenOver) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {64, 128}});
  const Tensor other = tracer.input("other", {DType::f32, {64, 128}});
  const Tensor scale = tracer.input("scale", {DType::f32, {128}});
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  const std::vector<Tensor> watched = {x, scale};
  tape.watch(watched);
  const Tensor y = ops::rms_norm(x, scale);
  const auto gradients = tape.gradient(y, watched, ops::relu(other));
  tracer.output(ops::add(gradients[0], other));
  tracer.output(gradients[1]);
  plan::Plan plan = planned(tracer);
  const auto before = fused(plan);
  ASSERT_EQ(before.size(), 1U);
  EXPECT_FALSE(before[0].between);
  plan::PlannedTask& grad = plan.tasks[before[0].first];
  plan::PlannedTask& add = plan.tasks[before[0].first + 1];
  add.outputs[0].offset = grad.outputs[1].offset;
  EXPECT_EQ(fused(plan).size(), 0U);
}

TEST_F(FusedLaunches, OneThatIsAddedToItselfStaysApart) {
  graph::Tracer tracer;
  const Tensor a = tracer.input("a", {DType::f32, {64, 128}});
  const Tensor scale = tracer.input("scale", {DType::f32, {128}});
  const ops::DispatchScope scope(tracer);
  ops::GradientTape tape;
  tape.watch(a);
  const Tensor y = ops::layer_norm(a, scale);
  const auto gradients = tape.gradient(y, std::span(&a, 1), ops::relu(a));
  tracer.output(ops::add(gradients[0], gradients[0]));
  EXPECT_EQ(fused(planned(tracer)).size(), 0U);
}

TEST_F(FusedLaunches, CastsOfWhatWasJustCastStayApart) {
  graph::Tracer tracer;
  std::vector<Tensor> wide;
  for (const char* name : {"a", "b", "c"}) {
    wide.push_back(tracer.input(name, {DType::f32, {300}}));
  }
  const Tensor large = tracer.input("large", {DType::f32, {ops::kSmallTensor + 1}});
  const ops::DispatchScope scope(tracer);
  std::vector<Tensor> narrow;
  narrow.push_back(ops::cast(wide[0], DType::bf16));
  narrow.push_back(ops::cast(wide[1], DType::bf16));
  narrow.push_back(ops::cast(wide[2], DType::f16));
  narrow.push_back(ops::cast(large, DType::f16));
  for (const Tensor& t : narrow) tracer.output(t);
  plan::Plan plan = planned(tracer);
  const auto found = fused(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 2U);
  // The second over what the first reads.
  plan.tasks[found[0].first + 1].outputs[0].offset = plan.tasks[found[0].first].inputs[0].offset;
  EXPECT_EQ(fused(plan).size(), 0U);
}

}  // namespace
}  // namespace plimsoll
