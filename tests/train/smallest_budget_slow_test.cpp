#include <gtest/gtest.h>

#include <plimsoll/nn/model.h>

#include "support/own_device.h"
#include "support/random_training.h"

namespace plimsoll {
namespace {

/// Of what keeping everything takes all through a step.
constexpr double kShare = 0.35;

struct Case {
  const char* model;
  nn::ModelOptions options;
  std::int64_t batch;
};

train::Trainer trainer_of(const Case& c) {
  return train::Trainer(nn::make_model(c.model, c.options),
                        optim::sgd({.lr = 0.01, .momentum = 0.9}), {.allow_split = false});
}

double share_of(const train::TrainingPlan& plan) {
  return static_cast<double>(plan.total()) / static_cast<double>(plan.unconstrained_kept);
}

class SmallestBudget : public ::testing::TestWithParam<Case> {};

TEST_P(SmallestBudget, IsAThirdOfKeepingEverythingByPlan) {
  const Case& c = GetParam();
  train::Trainer trainer = trainer_of(c);
  const Bytes least = test::smallest_budget(trainer_of(c), c.batch);
  const auto plan = trainer.plan({.batch = c.batch, .budget = least}, plan::describe_device("cpu"));
  EXPECT_LE(share_of(plan), kShare) << plan.explain();
}

INSTANTIATE_TEST_SUITE_P(ByPlan, SmallestBudget,
                         ::testing::Values(Case{"resnet50", {}, 32},
                                           Case{"unet", {.size = 256}, 32},
                                           Case{"gpt2", {.size = 1024}, 8}),
                         [](const auto& tested) { return std::string(tested.param.model); });

class SmallestBudgetRuns : public ::testing::TestWithParam<Case> {};

TEST_P(SmallestBudgetRuns, AndStaysWithinIt) {
  const Case& c = GetParam();
  const Bytes least = test::smallest_budget(trainer_of(c), c.batch);
  const Device device = test::own_cpu({.limit = least});
  train::Trainer trainer = trainer_of(c);
  const auto plan = trainer.plan({.batch = c.batch}, device);
  EXPECT_LE(share_of(plan), kShare) << plan.explain();
  const auto data = test::any_data(trainer.model(), 2, c.batch).batch(c.batch);
  const auto result = trainer.fit(plan, data, {.steps = 1});
  EXPECT_EQ(result.measured_peak, result.planned_peak);
  EXPECT_LE(result.charged_peak, least);
}

INSTANTIATE_TEST_SUITE_P(ByRunning, SmallestBudgetRuns,
                         ::testing::Values(Case{"resnet50", {}, 32},
                                           Case{"unet", {.size = 256}, 32},
                                           Case{"gpt2", {.size = 1024}, 8}),
                         [](const auto& tested) { return std::string(tested.param.model); });

}  // namespace
}  // namespace plimsoll
