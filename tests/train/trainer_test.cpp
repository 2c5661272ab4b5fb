#include <gtest/gtest.h>

#include <plimsoll/data/pipeline.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;

train::Trainer mlp_trainer(const train::TrainerOptions& options = {}) {
  return train::Trainer(nn::mlp({.in = 16, .hidden = {64, 64, 64, 64}, .classes = 4}),
                        optim::adam({.lr = 0.01}), options);
}

TEST(Trainer, MeasuresThePeakItPlanned) {
  const Device device = test::own_cpu({.limit = MiB(4)});
  train::Trainer trainer = mlp_trainer();
  const auto plan = trainer.plan({.batch = 32, .validation_batch = 16}, device);
  EXPECT_EQ(device.budget().used(), 0U) << "planning took memory";
  const train::Callback look{.on_step = [&](train::Run& run) {
    for (const Budget& each : run.device().budget().children()) {
      if (each.name() != "training") continue;
      EXPECT_EQ(each.used(), plan.charged);
    }
  }};
  const auto result = trainer.fit(plan, toy_data(256).batch(32), toy_data(64).batch(16),
                                  {.epochs = 2, .callbacks = {look}});
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  EXPECT_LE(result.charged_peak, MiB(4));
  EXPECT_EQ(result.steps, 16);
  EXPECT_LT(result.losses.back(), result.losses.front());
  EXPECT_TRUE(result.history.back().contains("validation_accuracy"));
}

TEST(Trainer, RefusalNamesABudgetAndABatchThatWork) {
  const Device device = test::own_cpu({.limit = MiB(1)});
  train::Trainer trainer = mlp_trainer({.allow_split = false});
  std::string message;
  try {
    trainer.plan({.batch = 1024}, device);
  } catch (const BudgetTooSmall& error) {
    message = error.what();
  }
  const test::Refusal refusal = test::parse_refusal(message);
  ASSERT_GT(refusal.budget, MiB(1)) << message;
  ASSERT_GT(refusal.batch, 0) << message;
  const Device larger = test::own_cpu({.limit = refusal.budget});
  EXPECT_NO_THROW(trainer.plan({.batch = 1024}, larger)) << message;
  EXPECT_NO_THROW(trainer.plan({.batch = refusal.batch}, device)) << message;
  EXPECT_THROW(trainer.plan({.batch = refusal.batch + 1}, device), BudgetTooSmall) << message;
}

TEST(Trainer, LossesDoNotDependOnTheBudget) {
  for (const DType compute : {DType::f32, DType::f16}) {
    test::check_budgets(
        [&] {
          return train::Trainer(
              nn::mlp({.in = 16, .hidden = {64, 64, 64, 64, 64, 64}, .classes = 4}),
              optim::adam({.lr = 0.01}), {.precision = compute, .allow_split = false});
        },
        toy_data(1280), 128, 10, 4);
  }
}

TEST(Trainer, LossesWithDropoutAndClippingDoNotDependOnTheBudget) {
  const auto model = [] {
    return nn::vit({.classes = 5,
                    .channels = 1,
                    .size = 16,
                    .patch = 4,
                    .features = 32,
                    .layers = 2,
                    .heads = 2,
                    .dropout = 0.1});
  };
  test::check_budgets(
      [&] {
        return train::Trainer(model(), optim::sgd({.momentum = 0.9}),
                              {.precision = bf16, .clip_norm = 1, .allow_split = false});
      },
      test::any_data(model(), 5, 64), 16, 10, 3);
}

TEST(Trainer, SplittingGivesTheSameUpToRounding) {
  const Device device = test::own_cpu({.limit = MiB(16)});
  std::vector<std::vector<float>> losses;
  for (const std::int64_t parts : {1, 2, 4}) {
    train::Trainer trainer = mlp_trainer({.accumulate = parts});
    const auto plan = trainer.plan({.batch = 64}, device);
    EXPECT_EQ(plan.parts(), parts);
    losses.push_back(trainer.fit(plan, toy_data(640).batch(64), {.epochs = 1}).losses);
    EXPECT_EQ(trainer.fit(plan, toy_data(640).batch(64), {.epochs = 1}).measured_peak,
              plan.planned_peak());
  }
  for (std::size_t i = 0; i < losses[0].size(); ++i) {
    EXPECT_NEAR(losses[0][i], losses[1][i], 1e-4);
    EXPECT_NEAR(losses[0][i], losses[2][i], 1e-4);
  }
}

}  // namespace
}  // namespace plimsoll
