#include <gtest/gtest.h>

#include <plimsoll/plan/executor.h>
#include <plimsoll/plan/planner.h>

#include "support/layer_stack.h"
#include "support/own_device.h"
#include "support/random_step.h"

namespace plimsoll {
namespace {

using Stack = test::LayerStack;

class Planning : public ::testing::Test {
 protected:
  Device device_ = test::own_cpu({.limit = MiB(256)});
  plan::PlanOptions options_{.device = plan::describe_device(device_)};
};

TEST_F(Planning, TheSameBitsAtEveryBudget) {
  Stack stack(device_, 12, 64, 48);
  options_.device.page_size = 256;
  plan::Planner planner(stack.graph, options_);
  const plan::Plan most = planner.largest();
  const plan::Plan least = planner.smallest();
  EXPECT_LT(least.range, most.range * 7 / 10);
  const auto expected = stack.losses(most, device_);
  EXPECT_LT(expected.back(), expected.front());
  for (int i = 0; i <= 6; ++i) {
    const Bytes budget = least.total() + (most.total() - least.total()) * static_cast<Bytes>(i) / 6;
    const plan::Plan plan = planner.plan(budget);
    EXPECT_LE(plan.total(), budget);
    EXPECT_EQ(stack.losses(plan, device_), expected) << plan.explain();
  }
}

TEST_F(Planning, ABudgetThatIsTooSmallNamesOneThatWorks) {
  Stack stack(device_, 6, 32, 16);
  options_.device.page_size = 256;
  plan::Planner planner(stack.graph, options_);
  const Bytes least = planner.smallest().total();
  try {
    planner.plan(least / 2);
    FAIL();
  } catch (const BudgetTooSmall& error) {
    EXPECT_NE(std::string(error.what()).find("smallest budget for this batch: "),
              std::string::npos);
  }
  EXPECT_LE(planner.plan(least).total(), least);
}

TEST_F(Planning, AStepTakesExactlyThePlannedBytesAndAllocatesNothing) {
  Stack stack(device_, 8, 64, 32);
  plan::Planner planner(stack.graph, options_);
  const plan::Plan plan = planner.plan(planner.largest().total());
  const Bytes weights = device_.arena().stats().live - 64 * 32 * 4;  // without the feed
  plan::Executor executor(plan, device_);
  EXPECT_EQ(device_.arena().stats().live - 64 * 32 * 4, plan.arena_bytes());
  EXPECT_LT(weights, plan.arena_bytes());
  executor.run({&stack.feed, 1});
  const auto before = device_.arena().stats();
  for (int i = 0; i < 10; ++i) executor.run({&stack.feed, 1});
  EXPECT_EQ(device_.arena().stats().allocations, before.allocations);
}

TEST_F(Planning, UpdatesRunAsSoonAsTheirGradientsAreThere) {
  Stack stack(device_, 10, 1, 64);
  plan::Planner planner(stack.graph, options_);
  // All gradients at once would take 160 KiB; a few at a time do not.
  EXPECT_LT(planner.largest().range, KiB(80));
}

TEST_F(Planning, HintsAreKept) {
  Stack stack(device_, 6, 64, 32);
  options_.recompute = {"layer2"};
  plan::Planner planner(stack.graph, options_);
  const plan::Plan plan = planner.largest();
  bool again = false;
  for (const auto& task : plan.tasks) {
    if (task.again) {
      again = true;
      EXPECT_EQ(stack.graph->node(task.node).scope, "layer2");
    }
  }
  EXPECT_TRUE(again);
  options_.recompute = {"layer99"};
  EXPECT_THROW(plan::Planner(stack.graph, options_), InvalidArgument);
}

TEST_F(Planning, ATracedStepTakesTheLeastTimeAtEveryBudget) {
  options_.device.page_size = 1;
  for (const std::int64_t width : {16, 96}) {
    Stack stack(device_, 1, 64, width);
    const plan::StepModel model = plan::make_step_model(stack.graph, options_.device);
    ASSERT_LT(model.work.size(), 20U);
    const test::PebbleGame game = test::game_of(model);
    plan::Planner planner(stack.graph, options_);
    const Bytes least = game.smallest_budget();
    EXPECT_EQ(planner.smallest().range, least);
    const Bytes most = planner.largest().range;
    for (int i = 0; i <= 24; ++i) {
      const Bytes range = least + (most - least) * static_cast<Bytes>(i) / 24;
      const plan::Plan plan = planner.plan(planner.fixed_bytes() + range);
      EXPECT_LE(plan.range, range);
      EXPECT_LE(plan.seconds, *game.least_seconds(range) * 1.05) << "within " << range;
      EXPECT_NO_THROW(stack.losses(plan, device_));
    }
  }
}

TEST_F(Planning, KeepingEverythingIsTheYardstick) {
  constexpr Bytes kWeight = 32 * 32 * 4;
  constexpr Bytes kValue = 64 * 32 * 4;
  Stack stack(device_, 6, 64, 32);
  plan::Planner planner(stack.graph, options_);
  // Weights and their gradients; the input; of each layer what relu's gradient and the next
  // matmul's need; the square's input, which is the last of those; the loss and its copy.
  const Bytes layers = 6 * (2 * kWeight + 2 * kValue) + kValue;
  EXPECT_GE(planner.kept_bytes(), layers);
  EXPECT_LE(planner.kept_bytes(), layers + 4 * 256);
  // Beside them, when a layer's input has its gradient: those of its output and of what relu gave,
  // itself, the weight as it will be, the loss, and what that matmul works with.
  Bytes workspace = 0;
  for (const plan::Work& work : plan::make_step_model(stack.graph, options_.device).work) {
    workspace = std::max(workspace, work.workspace);
  }
  EXPECT_EQ(planner.unconstrained_peak(), planner.kept_bytes() + options_.device.workspace +
                                              3 * kValue + kWeight + 256 + workspace);
  EXPECT_GE(planner.unconstrained_peak(), planner.largest().arena_bytes());
  EXPECT_EQ(planner.smallest().unconstrained_peak, planner.unconstrained_peak());
  EXPECT_NE(planner.largest().to_json().find("unconstrained_peak"), std::string::npos);
}

TEST_F(Planning, TheCurveFallsFromFastToSmall) {
  Stack stack(device_, 12, 64, 32);
  options_.device.page_size = 256;
  plan::Planner planner(stack.graph, options_);
  const auto curve = planner.curve(6);
  ASSERT_EQ(curve.size(), 6U);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_LT(curve[i].budget, curve[i - 1].budget);
    EXPECT_GE(curve[i].seconds, curve[i - 1].seconds * 0.999);
  }
}

}  // namespace
}  // namespace plimsoll
