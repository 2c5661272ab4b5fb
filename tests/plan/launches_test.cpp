// What plans predict where one launch stands for several tasks. Nothing here needs a GPU.
#include "plan/launches.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/graph/trace.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>
#include <plimsoll/plan/generated_kernels.h>
#include <plimsoll/plan/op_times.h>
#include <plimsoll/plan/planner.h>
#include <plimsoll/plan/timeline.h>
#include <plimsoll/train/trainer.h>

#include "plan/launch_seconds.h"
#include "plan/predicted_time.h"
#include "plan/schedule.h"
#include "support/random_pointwise.h"

namespace plimsoll::plan {
namespace {

using Graph = std::shared_ptr<const graph::Graph>;

constexpr std::chrono::milliseconds kAtOnce{0};

double sum(const std::vector<double>& all) { return std::accumulate(all.begin(), all.end(), 0.0); }

/// By node, what it takes launched by itself.
std::vector<double> apart(const Plan& plan) {
  std::vector<double> seconds;
  for (const graph::Node& node : plan.graph->nodes()) {
    seconds.push_back(
        node.op->view ? 0 : predicted_seconds(node, types_of(*plan.graph, node), plan.device));
  }
  return seconds;
}

double apart_seconds(const Plan& plan) {
  const std::vector<double> nodes = apart(plan);
  double seconds = 0;
  for (const PlannedTask& task : plan.tasks) seconds += nodes[static_cast<std::size_t>(task.node)];
  return seconds;
}

/// That of bench/pointwise_bench.cpp.
Graph chain(const Shape& shape, DType dtype) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {dtype, shape});
  const Tensor y = tracer.input("y", {dtype, shape});
  const Tensor b = tracer.input("b", {dtype, {shape[1]}});
  const ops::DispatchScope scope(tracer);
  Tensor h = ops::add(ops::mul(x, ops::sigmoid(ops::scale(x, 1.7))), ops::tanh(y));
  h = ops::add(h, b);
  h = ops::sub(ops::mul(h, ops::exp(ops::neg(ops::square(h)))), ops::scale(y, 0.5));
  h = ops::maximum(h, ops::scale(ops::abs(x), 0.1));
  h = ops::add(ops::silu(h), ops::square(ops::clip(y, -1, 1)));
  tracer.output(ops::mul(h, ops::shift(ops::sin(h), 1)));
  return std::make_shared<graph::Graph>(tracer.finish());
}

Plan launch_plan(const Graph& graph, const char* device = "h200") {
  const PlanOptions options{.device = describe_device(device), .placement_time = kAtOnce};
  return Planner(graph, options).largest();
}

TEST(Launches, AChainIsPredictedAsItWasMeasured) {
  struct Case {
    DType dtype;
    Shape shape;
    double generated;  ///< microseconds on an H200, the copy of the result included
    double one_by_one;
  };
  for (const Case& c :
       {Case{DType::f32, {4096, 4096}, 115, 908}, Case{DType::bf16, {4096, 4096}, 150, 443},
        Case{DType::f32, {3001, 1023}, 33, 160}, Case{DType::bf16, {3001, 1023}, 37, 95}}) {
    SCOPED_TRACE(std::string(dtype_name(c.dtype)) + " " + c.shape.to_string());
    const Plan plan = launch_plan(chain(c.shape, c.dtype));
    const double bytes = static_cast<double>(c.shape.elements()) * dtype_size(c.dtype);
    const double copy = 2 * bytes / plan.device.bytes_per_second + plan.device.launch_seconds;
    EXPECT_NEAR(1e6 * (plan.seconds + copy) / c.generated, 1, 0.2);
    EXPECT_NEAR(1e6 * (apart_seconds(plan) + copy) / c.one_by_one, 1, 0.35);
  }
}

TEST(Launches, AKernelReadsEachArrayOnceAndWritesEachResultOnce) {
  const Plan plan = launch_plan(chain({4096, 4096}, DType::f32));
  const auto found = generated_kernels(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].ops.size(), plan.tasks.size());
  EXPECT_EQ(found[0].elements, 4096 * 4096);
  // x, y, the row, the result.
  EXPECT_EQ(found[0].bytes, (3 * 4096.0 * 4096.0 + 4096.0) * 4);
  EXPECT_GT(found[0].apart_bytes, 16 * found[0].bytes);
  EXPECT_DOUBLE_EQ(found[0].seconds, plan.seconds);
  EXPECT_DOUBLE_EQ(found[0].apart_seconds, apart_seconds(plan));
}

TEST(Launches, WhatIsReadLaterIsWrittenToo) {
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {1024, 1024}});
  {
    const ops::DispatchScope scope(tracer);
    const Tensor middle = ops::relu(ops::neg(x));
    tracer.output(ops::square(middle));
    tracer.output(middle);
  }
  const Plan plan = launch_plan(std::make_shared<graph::Graph>(tracer.finish()));
  const auto found = generated_kernels(plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 3 * 4.0 * 1024 * 1024);
}

TEST(Launches, APlanExplainsItsKernels) {
  const Plan plan = launch_plan(chain({4096, 4096}, DType::bf16));
  const std::string text = plan.explain();
  EXPECT_THAT(text, ::testing::HasSubstr("generated: a kernel for "));
  EXPECT_THAT(text, ::testing::HasSubstr("96.0 MiB instead of 1.6 GiB"));
  for (const char* op : {"sigmoid", "tanh", "maximum", "silu", "shift"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(op));
  }
  const auto json = nlohmann::json::parse(plan.to_json());
  ASSERT_EQ(json["generated"].size(), 1U);
  EXPECT_EQ(json["generated"][0]["kernels"], 1);
  EXPECT_EQ(json["generated"][0]["ops"].size(), plan.tasks.size());
  EXPECT_EQ(json["seconds"], plan.seconds);
}

TEST(Launches, KernelsThatAreAlikeShareALine) {
  graph::Tracer tracer;
  Tensor x = tracer.input("x", {DType::f32, {256, 256}});
  {
    const ops::DispatchScope scope(tracer);
    // A reduction ends each of them.
    for (int i = 0; i < 3; ++i) {
      const Tensor y = ops::relu(ops::neg(x));
      x = ops::mul(ops::exp(y), ops::sum(y, {.axes = {1}, .keep_dims = true}));
    }
    for (int i = 1; i < 6; ++i) {
      for (int k = 0; k < i; ++k) x = ops::neg(x);
      x = ops::add(ops::abs(x), ops::mean(x, {.axes = {1}, .keep_dims = true}));
    }
    tracer.output(x);
  }
  const Plan plan = launch_plan(std::make_shared<graph::Graph>(tracer.finish()));
  int kernels = 0;
  for (const GeneratedKernels& each : generated_kernels(plan)) kernels += each.count;
  EXPECT_GT(kernels, 4);
  const std::vector<std::string> lines = generated_lines(plan);
  ASSERT_LE(lines.size(), 4U);
  EXPECT_THAT(plan.explain(), ::testing::HasSubstr(" kernels for "));
  EXPECT_THAT(lines.back(), ::testing::HasSubstr(" more kernel"));
}

TEST(Launches, OlderGpusRunOpsOneByOne) {
  for (const char* device : {"t4", "v100"}) {
    const Plan plan = launch_plan(chain({512, 512}, DType::f32), device);
    EXPECT_TRUE(generated_kernels(plan).empty());
    EXPECT_DOUBLE_EQ(plan.seconds, apart_seconds(plan));
    EXPECT_EQ(plan.explain().find("generated"), std::string::npos);
  }
  for (const char* device : {"a100", "h100", "l4", "rtx3090"}) {
    EXPECT_EQ(generated_kernels(launch_plan(chain({512, 512}, DType::f32), device)).size(), 1U);
  }
}

TEST(Launches, AKernelIsNeverPredictedSlowerThanItsOps) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const char* device : {"h200", "t4"}) {
      const test::RandomPointwise random(seed, {24, 32}, seed % 2 == 0 ? DType::f32 : DType::bf16,
                                         5 + static_cast<int>(seed));
      const Plan plan = launch_plan(random.graph, device);
      for (const LaunchCost& cost : launch_costs(plan)) {
        EXPECT_LE(cost.seconds, cost.apart_seconds) << "seed " << seed;
        EXPECT_LE(cost.bytes, cost.apart_bytes) << "seed " << seed;
        EXPECT_GE(cost.seconds, plan.device.launch_seconds) << "seed " << seed;
      }
      EXPECT_LE(plan.seconds, apart_seconds(plan) * (1 + 1e-12)) << "seed " << seed;
    }
  }
}

TEST(Launches, ASumAndItsNormAreOneLaunchThatReadsNoSum) {
  for (const bool more : {false, true}) {
    graph::Tracer tracer;
    const Tensor a = tracer.input("a", {DType::f32, {4096, 1024}});
    const Tensor b = tracer.input("b", {DType::f32, {4096, 1024}});
    const Tensor scale = tracer.input("scale", {DType::f32, {1024}});
    {
      const ops::DispatchScope scope(tracer);
      const Tensor sum = ops::add(a, b);
      tracer.output(ops::layer_norm(sum, scale));
      if (more) tracer.output(sum);
    }
    const Plan plan = launch_plan(std::make_shared<graph::Graph>(tracer.finish()));
    ASSERT_EQ(plan.tasks.size(), 2U);
    const double pass = 4.0 * 4096 * 1024 / plan.device.bytes_per_second;
    const double saved = (more ? 1 : 2) * pass + plan.device.launch_seconds;
    EXPECT_NEAR(plan.seconds, apart_seconds(plan) - saved, 1e-12);
    EXPECT_TRUE(generated_kernels(plan).empty());
  }
}

Plan step_of(const nn::Model& model, std::int64_t batch, const DeviceDescription& device,
             Bytes budget = kUnlimited, Bytes offload = 0) {
  const train::Trainer trainer(model, optim::adamw({.lr = 1e-3}),
                               {.precision = DType::bf16, .allow_split = false});
  train::PlanRequest request{.batch = batch, .budget = budget};
  request.offload = offload;
  const auto plan = trainer.plan(request, device);
  return *plan.phases.front().steps.front();
}

TEST(Launches, SmallUpdatesAndCastsTakeALaunchTogether) {
  const Plan plan =
      step_of(nn::make_model("vit_tiny", {.classes = 10, .size = 32}), 8, describe_device("h200"));
  double launches = 0;
  for (const FusedLaunch& launch : launches_of(plan).fused) {
    if (!launch.pattern->chain) launches += static_cast<double>(launch.count - 1);
  }
  EXPECT_GT(launches, 100);
  EXPECT_LE(plan.seconds, apart_seconds(plan) - launches * plan.device.launch_seconds + 1e-12);
}

TEST(Launches, EveryPlanHasTheFigureOfItsOwnLaunches) {
  const auto check = [](const Plan& plan) {
    const std::vector<double> seconds = task_seconds(plan);
    EXPECT_NEAR(plan.seconds, sum(seconds) + plan.wait_seconds, 1e-9 * plan.seconds);
    double again = 0;
    for (std::size_t t = 0; t < seconds.size(); ++t) again += plan.tasks[t].again ? seconds[t] : 0;
    EXPECT_NEAR(plan.again_seconds, again, 1e-9 * plan.seconds);
    double drawn = 0;
    for (const TimelineTask& task : timeline_of(plan).tasks) drawn += task.seconds;
    EXPECT_NEAR(drawn, sum(seconds), 1e-9 * plan.seconds);
  };
  DeviceDescription device = describe_device("h200");
  device.page_size = 1;
  for (const char* name : {"mlp", "vit_tiny", "resnet18", "efficientnet_b0"}) {
    SCOPED_TRACE(name);
    const nn::Model model = nn::make_model(name, {.classes = 10, .size = 32});
    const Plan most = step_of(model, 32, device);
    check(most);
    EXPECT_EQ(most.seconds, most.kept_seconds);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomPointwise random(seed, {256, 256}, DType::f32, 30);
    Planner planner(random.graph, {.device = device, .placement_time = kAtOnce});
    const Plan most = planner.largest();
    check(most);
    check(planner.smallest());
    const Bytes between = (most.total() + planner.smallest().total()) / 2;
    check(planner.plan(between));
  }
}

TEST(Launches, WhatIsAssumedInASearchIsWhatThePlanComesTo) {
  // Nothing is in the way of these where values are put.
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Graph graph = chain({512, 512}, dtype);
    const DeviceDescription device = describe_device("h200");
    const StepModel model = make_step_model(graph, device);
    Scheduler scheduler(model);
    const std::vector<char> keep(model.roots.size(), kKept);
    EXPECT_DOUBLE_EQ(scheduler.run(keep).seconds, launch_plan(graph).seconds);
  }
  // What random plans put over inputs parts some launches.
  double all_assumed = 0;
  double all_planned = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const test::RandomPointwise random(seed, {256, 256}, DType::f32, 40);
    const StepModel model = make_step_model(random.graph, describe_device("h200"));
    Scheduler scheduler(model);
    const double assumed = scheduler.run(std::vector<char>(model.roots.size(), kKept)).seconds;
    const Plan plan = launch_plan(random.graph);
    EXPECT_LE(assumed, plan.seconds * 1.05) << "seed " << seed;
    EXPECT_GE(assumed, plan.seconds * 0.5) << "seed " << seed;
    all_assumed += assumed;
    all_planned += plan.seconds;
  }
  RecordProperty("assumed_to_planned", std::to_string(all_assumed / all_planned));
  EXPECT_NEAR(all_assumed / all_planned, 1, 0.2);
}

TEST(Launches, AnOpThatIsComputedAgainInAKernelPaysWhatItAdds) {
  // Two reductions with a chain between them, whose first values the last ops read again.
  graph::Tracer tracer;
  const Tensor x = tracer.input("x", {DType::f32, {2048, 2048}});
  {
    const ops::DispatchScope scope(tracer);
    ops::GradientTape tape;
    tape.watch(x);
    Tensor h = x;
    for (int i = 0; i < 6; ++i) h = ops::tanh(ops::scale(h, 1.1));
    const Tensor loss = ops::sum(ops::square(h), {});
    tracer.output(loss);
    tracer.output(ops::sum(tape.gradient(loss, std::span(&x, 1))[0], {}));
  }
  const Graph graph = std::make_shared<graph::Graph>(tracer.finish());
  DeviceDescription device = describe_device("h200");
  device.page_size = 1;
  Planner planner(graph, {.device = device});
  const Plan least = planner.smallest();
  ASSERT_GT(least.again_seconds, 0);
  const std::vector<double> alone = apart(least);
  double again_apart = 0;
  for (const PlannedTask& task : least.tasks) {
    if (task.again) again_apart += alone[static_cast<std::size_t>(task.node)];
  }
  EXPECT_LT(least.again_seconds, 0.7 * again_apart);
}

TEST(Launches, MeasuredTimesOfOpsCountForTheKernelsTheyAreIn) {
  const Graph graph = chain({512, 512}, DType::f32);
  const Plan plan = launch_plan(graph);
  std::vector<double> twice = apart(plan);
  for (double& seconds : twice) seconds *= 2;
  OpTimes times;
  times.add(*graph, twice);
  EXPECT_NEAR(times.seconds(plan), 2 * plan.seconds, 1e-9 * plan.seconds);
  const Plan later =
      Planner(graph, {.device = plan.device, .node_seconds = times.of(*graph)}).largest();
  EXPECT_NEAR(later.seconds, times.seconds(plan), 1e-9 * plan.seconds);
}

TEST(Launches, CopiesAreTimedBetweenTasksThatShareLaunches) {
  DeviceDescription device = describe_device("h200");
  const nn::Model model = nn::make_model("vit_tiny", {.classes = 10, .size = 64});
  const Plan most = step_of(model, 256, device);
  Bytes budget = most.total();
  bool copies = false;
  for (int i = 0; i < 6 && !copies; ++i) {
    budget -= most.range / 8;
    const Plan plan = step_of(model, 256, device, budget, GiB(8));
    copies = !plan.copies.empty();
    const double tasks = sum(task_seconds(plan));
    EXPECT_NEAR(plan.seconds, tasks + plan.wait_seconds, 1e-9 * plan.seconds);
    EXPECT_GE(plan.wait_seconds, 0);
  }
  EXPECT_TRUE(copies);
}

/// A CPU that is the same on every machine.
DeviceDescription cpu() {
  DeviceDescription device = describe_device("cpu");
  device.bytes_per_second = 16e9;
  device.flops_f32 = device.flops_16 = device.flops_tf32 = 1e11;
  device.page_size = 1;
  return device;
}

TEST(Launches, OnACpuEveryTaskTakesItsOwnTime) {
  const auto check = [](const Plan& plan) {
    EXPECT_TRUE(launches_of(plan).fused.empty());
    EXPECT_TRUE(launches_of(plan).generated.empty());
    EXPECT_TRUE(generated_kernels(plan).empty());
    const std::vector<double> alone = apart(plan);
    double seconds = 0;
    double again = 0;
    const std::vector<double> tasks = task_seconds(plan);
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      const double each = alone[static_cast<std::size_t>(plan.tasks[t].node)];
      EXPECT_EQ(tasks[t], each);
      seconds += each;
      if (plan.tasks[t].again) again += each;
    }
    // The same bits, not about the same.
    EXPECT_EQ(plan.seconds, seconds + plan.wait_seconds);
    EXPECT_EQ(plan.again_seconds, again);
  };
  EXPECT_FALSE(fuses(cpu()));
  EXPECT_FALSE(generates_kernels(cpu()));
  for (const char* name : {"mlp", "lenet", "resnet18", "vit_tiny", "gpt2_tiny"}) {
    SCOPED_TRACE(name);
    const std::int64_t size = std::string(name) == "lenet" ? 28 : 32;
    train::Trainer trainer(nn::make_model(name, {.classes = 10, .size = size}), optim::adam(),
                           {.allow_split = false});
    const auto plan = trainer.plan({.batch = 4}, cpu());
    const Graph graph = plan.phases.front().steps.front()->graph;
    PlanOptions options{.device = cpu(), .placement_time = kAtOnce};
    Planner planner(graph, options);
    const Plan most = planner.largest();
    check(most);
    EXPECT_EQ(most.kept_seconds, most.seconds);
    check(planner.smallest());
    const Bytes least = planner.smallest().total();
    if (const auto found = planner.find((least + most.total()) / 2)) check(*found);
    const StepModel model = make_step_model(graph, cpu());
    Scheduler scheduler(model);
    EXPECT_TRUE(scheduler.run(std::vector<char>(model.roots.size(), kKept)).task_seconds.empty());
  }
}

}  // namespace
}  // namespace plimsoll::plan
