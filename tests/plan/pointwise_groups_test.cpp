// Which pointwise tasks of a plan one generated kernel may stand for, and what it reads and writes.
// Nothing here needs a GPU.
#include "plan/pointwise_groups.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/plan/planner.h>

#include "support/random_pointwise.h"

namespace plimsoll {
namespace {

using ops::Spread;
using plan::PointwiseTasks;
using ::testing::ElementsAre;

plan::Plan planned(std::shared_ptr<const graph::Graph> graph, Bytes budget = 0) {
  graph->verify();
  plan::Planner planner(std::move(graph), {.device = plan::describe_device("h200")});
  return budget == 0 ? planner.largest() : planner.plan(budget);
}
plan::Plan planned(const graph::Tracer& tracer) {
  return planned(std::make_shared<graph::Graph>(tracer.finish()));
}

std::vector<PointwiseTasks> groups(const plan::Plan& plan) {
  return plan::pointwise_groups(plan, {});
}

std::string names(const plan::Plan& plan, const PointwiseTasks& tasks) {
  std::string all;
  for (std::size_t t = tasks.first; t < tasks.first + tasks.count; ++t) {
    all += std::string(plan.graph->node(plan.tasks[t].node).op->name) + " ";
  }
  return all;
}

/// x * sigmoid(1.7 x) + tanh(y)
struct Chain {
  explicit Chain(const Shape& shape = {64, 128}, const Shape& y_shape = {64, 128},
                 DType dtype = DType::f32, bool keep_product = false) {
    graph::Tracer tracer;
    const Tensor x = tracer.input("x", {dtype, shape});
    const Tensor y = tracer.input("y", {dtype, y_shape});
    const ops::DispatchScope scope(tracer);
    const Tensor product = ops::mul(x, ops::sigmoid(ops::scale(x, 1.7)));
    tracer.output(ops::add(product, ops::tanh(y)));
    if (keep_product) tracer.output(product);
    plan = planned(tracer);
  }

  std::size_t task(std::string_view op) const {
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      if (plan.graph->node(plan.tasks[t].node).op->name == op) return t;
    }
    return plan.tasks.size();
  }

  plan::Plan plan;
};

TEST(PointwiseGroups, AChainIsOneGroupThatWritesItsEnd) {
  const Chain chain;
  const auto found = groups(chain.plan);
  ASSERT_EQ(found.size(), 1U);
  const PointwiseTasks& tasks = found[0];
  EXPECT_EQ(tasks.count, 5U);
  EXPECT_EQ(tasks.group.elements, 64 * 128);
  EXPECT_EQ(tasks.group.arrays.size(), 2U);
  EXPECT_EQ(tasks.arrays.size(), 2U);
  // Only the sum leaves it.
  EXPECT_THAT(tasks.group.written, ElementsAre(4));
  EXPECT_EQ(tasks.written[0].task, chain.task("add"));
}

TEST(PointwiseGroups, WhatOthersReadIsWritten) {
  const Chain chain({64, 128}, {64, 128}, DType::f32, true);
  const auto found = groups(chain.plan);
  ASSERT_EQ(found.size(), 1U);
  std::set<std::size_t> written;
  for (const plan::TaskPlace& place : found[0].written) written.insert(place.task);
  EXPECT_EQ(written, (std::set<std::size_t>{chain.task("mul"), chain.task("add")}));
}

TEST(PointwiseGroups, RowsColumnsAndScalarsAreSpread) {
  for (const auto& [shape, spread, inner] : {std::tuple{Shape{}, Spread::single, 1},
                                             {Shape{1, 1}, Spread::single, 1},
                                             {Shape{128}, Spread::rows, 128},
                                             {Shape{1, 128}, Spread::rows, 128},
                                             {Shape{64, 1}, Spread::columns, 128}}) {
    const auto array = ops::pointwise_array({DType::f32, shape}, {64, 128});
    ASSERT_TRUE(array.has_value());
    EXPECT_EQ(array->spread, spread) << shape.to_string();
    EXPECT_EQ(array->inner, inner) << shape.to_string();
  }
  EXPECT_EQ(ops::pointwise_array({DType::f32, {4, 5}}, {2, 3, 4, 5})->inner, 20);
  EXPECT_EQ(ops::pointwise_array({DType::f32, {2, 3, 1, 1}}, {2, 3, 4, 5})->inner, 20);
  EXPECT_EQ(ops::pointwise_array({DType::f32, {2, 1, 4, 1}}, {2, 1, 4, 5})->inner, 5);
  // In the middle, at both ends, and where 32 bits do not do.
  EXPECT_FALSE(ops::pointwise_array({DType::f32, {2, 1, 5}}, {2, 3, 5}).has_value());
  EXPECT_FALSE(ops::pointwise_array({DType::f32, {1, 3, 1}}, {2, 3, 5}).has_value());
  EXPECT_FALSE(ops::pointwise_array({DType::u8, {1 << 16}}, {1 << 16, 1 << 16}).has_value());
}

TEST(PointwiseGroups, ASmallerTensorIsAGroupOfItsOwn) {
  // tanh is of a row: it is no step of a group of whole tensors.
  const Chain chain({64, 128}, {128});
  for (const PointwiseTasks& tasks : groups(chain.plan)) {
    EXPECT_EQ(names(chain.plan, tasks).find("tanh"), std::string::npos);
    EXPECT_EQ(tasks.group.elements, 64 * 128);
  }
}

TEST(PointwiseGroups, TasksThatAreTakenStayApart) {
  const Chain chain;
  std::vector<bool> taken(chain.plan.tasks.size(), false);
  taken[chain.task("add")] = true;
  for (const PointwiseTasks& tasks : plan::pointwise_groups(chain.plan, taken)) {
    EXPECT_EQ(names(chain.plan, tasks).find("add"), std::string::npos);
  }
  taken.assign(chain.plan.tasks.size(), true);
  EXPECT_TRUE(plan::pointwise_groups(chain.plan, taken).empty());
}

TEST(PointwiseGroups, AReductionEndsAGroup) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {64, 128}});
  const ops::DispatchScope scope(tracer);
  const Tensor y = ops::relu(ops::neg(x));
  tracer.output(ops::mul(ops::exp(ops::sub(y, ops::sum(y, {.axes = {1}, .keep_dims = true}))), y));
  const plan::Plan plan = planned(tracer);
  const auto found = groups(plan);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(names(plan, found[0]), "neg relu ");
  EXPECT_EQ(names(plan, found[1]), "sub exp mul ");
  EXPECT_THAT(found[0].group.written, ElementsAre(1));
  EXPECT_EQ(found[1].group.arrays[1].spread, Spread::columns);
}

TEST(PointwiseGroups, AResultOverAnInputMustLieExactlyOnIt) {
  Chain chain;
  plan::Place& result = chain.plan.tasks[chain.task("add")].outputs[0];
  ASSERT_EQ(groups(chain.plan).size(), 1U);
  const Bytes x = chain.plan.tasks[chain.task("scale")].inputs[0].offset;
  result.offset = x;
  ASSERT_EQ(groups(chain.plan).size(), 1U);
  EXPECT_EQ(groups(chain.plan)[0].count, 5U);
  result.offset = x + 256;
  // All but the sum, which would write what other threads still read.
  const auto found = groups(chain.plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 4U);
}

TEST(PointwiseGroups, AResultOverARowIsNotWrittenByAGroup) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {1, 128}});
  const Tensor row = tracer.input("row", {DType::f32, {128}});
  const Tensor many = tracer.input("many", {DType::f32, {64, 128}});
  const ops::DispatchScope scope(tracer);
  tracer.output(ops::neg(ops::mul(ops::add(many, row), many)));
  (void)x;
  plan::Plan plan = planned(tracer);
  ASSERT_EQ(groups(plan).size(), 1U);
  ASSERT_EQ(groups(plan)[0].count, 3U);
  // Begins where the row does.
  plan.tasks[2].outputs[0].offset = plan.tasks[0].inputs[1].offset;
  EXPECT_NE(plan.tasks[0].inputs[0].offset, plan.tasks[0].inputs[1].offset);
  for (const PointwiseTasks& tasks : groups(plan)) EXPECT_LT(tasks.count, 3U);
}

TEST(PointwiseGroups, WhatIsNotWrittenMayLieAnywhere) {
  Chain chain;
  // The sigmoid's result over a part of x, which mul reads later: no valid plan, but one that shows
  // that only what is written counts. mul then reads what sigmoid wrote.
  const std::size_t scale = chain.task("scale");
  const std::size_t sigmoid = chain.task("sigmoid");
  const Bytes y = chain.plan.tasks[chain.task("tanh")].inputs[0].offset;
  const std::size_t tanh = chain.task("tanh");
  if (tanh < scale) {
    // y is dead after its tanh.
    chain.plan.tasks[scale].outputs[0].offset = y + 256;
    chain.plan.tasks[sigmoid].inputs[0].offset = y + 256;
    ASSERT_EQ(groups(chain.plan).size(), 1U);
    EXPECT_EQ(groups(chain.plan)[0].count, 5U);
  }
}

TEST(PointwiseGroups, GroupsAreNoLongerThanTheirLimits) {
  graph::Tracer tracer;
  Tensor x = tracer.input("x", {DType::f32, {1024}});
  std::vector<Tensor> more;
  for (int i = 0; i < 40; ++i) {
    more.push_back(tracer.input("m" + std::to_string(i), {DType::f32, {1024}}));
  }
  const ops::DispatchScope scope(tracer);
  for (int i = 0; i < 100; ++i) x = ops::neg(x);
  for (const Tensor& m : more) x = ops::add(x, m);
  tracer.output(x);
  const plan::Plan plan = planned(tracer);
  std::size_t tasks = 0;
  for (const PointwiseTasks& found : groups(plan)) {
    EXPECT_LE(found.count, ops::kMostPointwiseSteps);
    EXPECT_LE(found.group.arrays.size(), ops::kMostPointwiseArrays);
    EXPECT_LE(found.written.size(), ops::kMostPointwiseWritten);
    tasks += found.count;
  }
  EXPECT_GE(tasks, 138U);
}

/// What a group does, by the rules of its contract, against what its tasks do one by one: each
/// task's result is a number made of its op and what it reads; memory is in pieces of 64 bytes.
class Memory {
 public:
  explicit Memory(const plan::Plan& plan) : plan_(plan) {}

  using Content = std::map<std::pair<bool, Bytes>, std::size_t>;

  void run_task(std::size_t t, Content& memory) const {
    const plan::PlannedTask& task = plan_.tasks[t];
    std::size_t made = static_cast<std::size_t>(task.node) + 1;
    for (const plan::Place& place : task.inputs) made = made * 31 + read(place, memory);
    for (const plan::Place& place : task.outputs) write(place, made, memory);
  }
  void run_group(const PointwiseTasks& tasks, Content& memory) const {
    std::vector<std::size_t> arrays;
    for (const plan::TaskPlace& at : tasks.arrays) {
      arrays.push_back(read(plan_.tasks[at.task].inputs[at.index], memory));
    }
    std::vector<std::size_t> results;
    for (std::size_t s = 0; s < tasks.group.steps.size(); ++s) {
      std::size_t made = static_cast<std::size_t>(plan_.tasks[tasks.first + s].node) + 1;
      for (const ops::PointwiseOperand& in : tasks.group.steps[s].inputs) {
        const auto index = static_cast<std::size_t>(in.index);
        made = made * 31 + (in.step ? results[index] : arrays[index]);
      }
      results.push_back(made);
    }
    for (std::size_t w = 0; w < tasks.written.size(); ++w) {
      write(plan_.tasks[tasks.written[w].task].outputs[tasks.written[w].index],
            results[static_cast<std::size_t>(tasks.group.written[w])], memory);
    }
  }
  std::size_t read(const plan::Place& place, const Content& memory) const {
    std::set<std::size_t> values;
    std::size_t all = 17;
    each(place, [&](const auto& piece) {
      const auto it = memory.find(piece);
      values.insert(it == memory.end() ? piece.second : it->second);
      all = all * 1000003 + (it == memory.end() ? piece.second : it->second);
    });
    // What one task wrote is the number it made.
    return values.size() == 1 ? *values.begin() : all;
  }

 private:
  template <typename F>
  void each(const plan::Place& place, F body) const {
    const graph::Value& value = plan_.graph->value(place.value);
    const Bytes begin =
        place.persistent ? static_cast<Bytes>(value.memory) * MiB(64) : place.offset;
    for (Bytes at = begin / 64; at < (begin + value.type.bytes() + 63) / 64; ++at) {
      body(std::pair{place.persistent, at});
    }
  }
  void write(const plan::Place& place, std::size_t what, Content& memory) const {
    each(place, [&](const auto& piece) { memory[piece] = what; });
  }

  const plan::Plan& plan_;
};

TEST(PointwiseGroups, RandomPlansGiveWhatTheirTasksGive) {
  std::size_t fused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const test::RandomPointwise random(seed, seed % 3 == 0 ? Shape{6, 4, 32} : Shape{24, 32},
                                       seed % 2 == 0 ? DType::f32 : DType::bf16,
                                       5 + static_cast<int>(seed % 40));
    const plan::Plan plan = planned(random.graph);
    const Memory memory(plan);
    Memory::Content expected;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) memory.run_task(t, expected);
    Memory::Content actual;
    const auto found = groups(plan);
    auto next = found.begin();
    for (std::size_t t = 0; t < plan.tasks.size();) {
      if (next != found.end() && next->first == t) {
        memory.run_group(*next, actual);
        fused += next->count;
        t += next++->count;
      } else {
        memory.run_task(t++, actual);
      }
    }
    for (const plan::Place& place : plan.outputs) {
      EXPECT_EQ(memory.read(place, actual), memory.read(place, expected)) << "seed " << seed;
    }
  }
  EXPECT_GT(fused, 2000U);
}

}  // namespace
}  // namespace plimsoll
