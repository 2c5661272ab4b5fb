#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <plimsoll/nn/models.h>
#include <plimsoll/plan/op_times.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"
#include "train/trainer_impl.h"

namespace plimsoll {
namespace {

using test::toy_data;

nn::Model model() {
  return nn::mlp({.in = 16, .hidden = std::vector<std::int64_t>(8, 96), .classes = 4});
}

TEST(MeasuredTimes, ChangeWhatIsComputedAgain) {
  train::Trainer::Impl trainer(model(), optim::adam(), {});
  const auto graph = trainer.trace({}, 512, train::StepPart::whole, 1).graph;
  plan::PlanOptions options{.device = plan::describe_device("cpu")};
  options.device.page_size = 1;
  plan::Planner by_description(graph, options);
  const Bytes budget = (by_description.smallest().total() + by_description.largest().total()) / 2;
  const auto again = [](const plan::Plan& plan) {
    std::set<graph::NodeId> nodes;
    for (const plan::PlannedTask& task : plan.tasks) {
      if (task.again) nodes.insert(task.node);
    }
    return nodes;
  };
  const plan::Plan before = by_description.plan(budget);
  ASSERT_FALSE(again(before).empty()) << before.explain();
  // One that it computes again turns out to take a second.
  const graph::NodeId slow = *again(before).begin();
  options.node_seconds.assign(graph->nodes().size(), 0);
  options.node_seconds[static_cast<std::size_t>(slow)] = 1;
  const plan::Plan after = plan::Planner(graph, options).plan(budget);
  EXPECT_FALSE(again(after).contains(slow)) << after.explain();
  EXPECT_FALSE(again(after).empty());
  EXPECT_LE(after.total(), budget);
}

TEST(MeasuredTimes, AreKnownForEveryGraphWithTheSameWork) {
  train::Trainer::Impl trainer(model(), optim::adam(), {});
  const auto graph = trainer.trace({}, 64, train::StepPart::whole, 1).graph;
  const auto other = trainer.trace({}, 64, train::StepPart::whole, 1).graph;
  std::vector<double> seconds(graph->nodes().size(), 0);
  seconds[0] = 0.25;
  plan::OpTimes times;
  EXPECT_TRUE(times.empty());
  times.add(*graph, seconds);
  EXPECT_EQ(times.of(*other)[0], 0.25);
  seconds[0] = 0.5;
  times.add(*graph, seconds);
  EXPECT_EQ(times.of(*graph)[0], 0.25) << "the least counts";
  seconds.resize(seconds.size() + 1);
  EXPECT_THROW(times.add(*graph, seconds), InvalidArgument);
}

class MeasuringFit : public ::testing::TestWithParam<DType> {};

TEST_P(MeasuringFit, ChangesNoNumberAndTakesNoMemory) {
  const auto trainer = [&] {
    return train::Trainer(model(), optim::adam(),
                          {.precision = GetParam(), .clip_norm = 1, .allow_split = false});
  };
  const Bytes least = test::smallest_budget(trainer(), 512, 64);
  const auto fit = [&](std::int64_t measure_after, RunLog* log) {
    const Device device = test::own_cpu({.limit = least + KiB(128)});
    train::Trainer t = trainer();
    const auto plan = t.plan({.batch = 512, .validation_batch = 64}, device);
    return t.fit(plan, toy_data(512 * 6).batch(512), toy_data(64).batch(64),
                 {.epochs = 2, .measure_after = measure_after, .log = log});
  };
  const std::string path = fmt::format("{}/measured-{}", ::testing::TempDir(), ::getpid());
  const auto expected = fit(0, nullptr);
  EXPECT_EQ(expected.corrected_step_seconds, 0);
  train::FitResult result;
  {
    RunLog log(path);
    result = fit(2, &log);
  }
  EXPECT_EQ(result.losses, expected.losses);
  EXPECT_EQ(result.history, expected.history);
  EXPECT_EQ(result.measured_peak, result.planned_peak);
  EXPECT_LE(result.measured_peak, expected.measured_peak);
  EXPECT_LE(result.corrections, 1);
  EXPECT_GT(result.predicted_step_seconds, 0);
  EXPECT_GT(result.corrected_step_seconds, 0);
  EXPECT_GT(result.measured_step_seconds, 0);
  std::ifstream file(path);
  std::string line;
  int events = 0;
  while (std::getline(file, line)) events += nlohmann::json::parse(line)["event"] == "measured";
  EXPECT_EQ(events, 1);
  ::unlink(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Precisions, MeasuringFit,
                         ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& tested) { return std::string(dtype_name(tested.param)); });

}  // namespace
}  // namespace plimsoll
