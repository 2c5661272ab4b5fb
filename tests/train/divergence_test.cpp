// Losses that are not finite, metrics of training batches, and metrics that there will not be.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;
using ::testing::HasSubstr;

train::Trainer diverging_trainer(train::TrainerOptions options = {}, double rate = 0.05) {
  return train::Trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}), optim::sgd({.lr = rate}),
                        options);
}

/// An input of the element with that number is infinite.
data::Dataset with_infinity(std::int64_t count, std::int64_t at) {
  return toy_data(count).enumerate().map([at](const data::Element& e) {
    Tensor changed = e[1].tensor();
    if (e[0].as<std::int64_t>() == at) {
      changed.mutable_data<float>()[0] = std::numeric_limits<float>::infinity();
    }
    return data::Element{changed, e[2]};
  });
}

class NonFiniteLoss : public ::testing::Test {
 protected:
  Device device_ = Device::open("cpu:0", {.limit = MiB(8)});
};

TEST_F(NonFiniteLoss, EndsTheRunNamingStepAndRemedies) {
  train::Trainer trainer = diverging_trainer();
  const auto plan = trainer.plan({.batch = 8}, device_);
  std::int64_t last = 0;
  train::FitOptions options{.epochs = 1};
  options.callbacks = {{.on_step = [&](train::Run& run) { last = run.step(); }}};
  try {
    trainer.fit(plan, with_infinity(80, 37).batch(8), options);
    ADD_FAILURE();
  } catch (const train::Diverged& error) {
    EXPECT_THAT(error.what(), HasSubstr("the loss of step 5 is nan"));
    EXPECT_THAT(error.what(), HasSubstr("lower the learning rate (it is 0.05)"));
    EXPECT_THAT(error.what(), HasSubstr("clip"));
    EXPECT_EQ(error.exit_code(), 2);
  }
  EXPECT_EQ(last, 5);
}

TEST_F(NonFiniteLoss, MayBeAllowed) {
  train::Trainer trainer = diverging_trainer();
  const auto plan = trainer.plan({.batch = 8}, device_);
  train::FitOptions options{.epochs = 1};
  options.allow_nonfinite_loss = true;
  const auto result = trainer.fit(plan, with_infinity(80, 37).batch(8), options);
  EXPECT_EQ(result.steps, 10);
  EXPECT_TRUE(std::isnan(result.losses[4]));
}

TEST_F(NonFiniteLoss, IsAStepLeftOutWhereALossScaleSeesToIt) {
  train::Trainer trainer = diverging_trainer({.precision = f16});
  const auto plan = trainer.plan({.batch = 8}, device_);
  const auto result = trainer.fit(plan, with_infinity(80, 37).batch(8), {.epochs = 1});
  EXPECT_EQ(result.steps, 10);
  EXPECT_FALSE(std::isfinite(result.losses[4]));
  EXPECT_TRUE(std::isfinite(result.losses[9])) << "the step was left out";
}

TEST_F(NonFiniteLoss, IsAnErrorOfALossScaleTooIfItStays) {
  train::Trainer trainer = diverging_trainer({.precision = f16});
  const auto plan = trainer.plan({.batch = 8}, device_);
  const auto all_bad = toy_data(800).map([](const data::Element& e) {
    Tensor x = e[0].tensor();
    x.mutable_data<float>()[0] = std::numeric_limits<float>::infinity();
    return data::Element{x, e[1]};
  });
  try {
    trainer.fit(plan, all_bad.batch(8), {.epochs = 1});
    ADD_FAILURE();
  } catch (const train::Diverged& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 50 is nan"));
    EXPECT_THAT(error.what(), HasSubstr("bf16 instead of f16"));
  }
}

TEST_F(NonFiniteLoss, LeavesTheCheckpointsFromBefore) {
  const std::string folder = ::testing::TempDir() + "/diverged-" + std::to_string(::getpid());
  train::Trainer trainer = diverging_trainer();
  const auto plan = trainer.plan({.batch = 8}, device_);
  train::FitOptions options{.epochs = 1, .checkpoints = folder, .checkpoint_steps = 1};
  try {
    trainer.fit(plan, with_infinity(80, 37).batch(8), options);
    ADD_FAILURE();
  } catch (const train::Diverged& error) {
    EXPECT_THAT(error.what(), HasSubstr("step-00000004"));
  }
  std::filesystem::remove_all(folder);
}

TEST(TrainingAccuracy, IsInHistoryAndCallbacksAndRises) {
  const Device device = Device::open("cpu:0", {.limit = MiB(8)});
  for (const std::int64_t parts : {1, 2}) {
    train::Trainer trainer = diverging_trainer({.accumulate = parts}, 0.2);
    const auto plan = trainer.plan({.batch = 32, .validation_batch = 32}, device);
    double sum = 0;
    train::FitOptions options{.epochs = 20};
    options.callbacks = {{.on_step =
                              [&](train::Run& run) {
                                ASSERT_TRUE(run.accuracy().has_value());
                                sum += static_cast<double>(*run.accuracy());
                              },
                          .on_epoch =
                              [&](train::Run& run) {
                                EXPECT_NEAR(run.metrics().at("accuracy"), sum / 10, 1e-6);
                                sum = 0;
                              }}};
    const auto data = toy_data(320).batch(32);
    const auto result = trainer.fit(plan, data, data, options);
    EXPECT_GT(result.history.back().at("accuracy"), 0.85);
    EXPECT_GT(result.history.back().at("accuracy"), result.history.front().at("accuracy"));
    EXPECT_NEAR(result.history.back().at("accuracy"),
                result.history.back().at("validation_accuracy"), 0.05);
    trainer.release();
  }
}

TEST(MetricNames, AreCheckedBeforeTheFirstStep) {
  const Device device = Device::open("cpu:0", {.limit = MiB(8)});
  train::Trainer trainer = diverging_trainer();
  const auto plan = trainer.plan({.batch = 8, .validation_batch = 8}, device);
  const auto data = toy_data(32).batch(8);
  const auto refused = [&](train::FitOptions options, bool validates) -> std::string {
    std::int64_t steps = 0;
    options.epochs = 1;
    options.callbacks = {{.on_step = [&](train::Run&) { ++steps; }}};
    try {
      trainer.fit(plan, data, validates ? std::optional(data) : std::nullopt, options);
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(steps, 0);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(
      refused({.best = "validation_acuracy"}, true),
      HasSubstr("'validation_acuracy', which is not a metric of this run; there will be loss, "
                "accuracy, validation_loss, validation_accuracy"));
  EXPECT_THAT(refused({.early_stopping = {.patience = 2}}, false),
              HasSubstr("'validation_loss', but there is no validation data; there will be loss, "
                        "accuracy"));
  EXPECT_THAT(refused({.best = "accuracy"}, false), HasSubstr("'best' needs a folder"));
  const auto folder = std::filesystem::temp_directory_path() /
                      ("plimsoll-metric-names-" + std::to_string(getpid()));
  EXPECT_EQ(refused({.checkpoints = folder.string(),
                     .best = "accuracy",
                     .early_stopping = {.metric = "loss", .patience = 2}},
                    false),
            "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plimsoll
