#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using test::toy_data;
using ::testing::HasSubstr;

class Fit : public ::testing::Test {
 protected:
  static train::Trainer trainer(const train::TrainerOptions& options = {}, double lr = 0.01) {
    return train::Trainer(nn::mlp({.in = 16, .hidden = {64, 64}, .classes = 4}),
                          optim::adam({.lr = lr}), options);
  }
  template <typename Function>
  static std::string message_of(Function function) {
    try {
      function();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  Device device_ = test::own_cpu({.limit = MiB(8)});
};

TEST_F(Fit, ValidationEveryEpochDoesNotRaiseThePeak) {
  std::vector<train::FitResult> results;
  for (const bool validates : {false, true}) {
    const Device device = test::own_cpu({.limit = MiB(8)});
    train::Trainer t = trainer();
    const auto plan = t.plan({.batch = 64, .validation_batch = validates ? 64 : 0}, device);
    std::optional<data::Dataset> validation;
    if (validates) validation = toy_data(100).batch(64);
    results.push_back(t.fit(plan, toy_data(640).batch(64), validation, {.epochs = 3}));
    EXPECT_EQ(results.back().measured_peak, plan.planned_peak());
  }
  // But for the place of one more scalar: accuracy beside the loss.
  EXPECT_LE(results[1].measured_peak, results[0].measured_peak + 256);
  EXPECT_EQ(results[0].losses, results[1].losses);
}

TEST_F(Fit, BatchesOfOtherSizesArePlannedInTheRangeThatIsThere) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 64, .validation_batch = 32}, device_);
  const auto result = t.fit(plan, toy_data(100).batch(64), toy_data(33).batch(32), {.epochs = 2});
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(result.measured_peak, result.planned_peak);
}

TEST_F(Fit, EvaluatesAndPredictsWhatItLearned) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 32, .validation_batch = 32}, device_);
  t.fit(plan, toy_data(640).batch(32), {.epochs = 3});
  const train::Metrics metrics = t.evaluate(plan, toy_data(100).batch(32));
  EXPECT_GT(metrics.at("accuracy"), 0.9);
  Tensor x = Tensor::zeros({5, 16}, DType::f32, device_);
  for (std::int64_t i = 2; i < 16; i += 4) x.mutable_data<float>()[3 * 16 + i] = 1;
  const Tensor logits = t.predict(plan, x);
  ASSERT_EQ(logits.shape(), (Shape{5, 4}));
  const std::vector<float> values = logits.to_vector<float>();
  EXPECT_EQ(std::max_element(values.begin() + 12, values.begin() + 16) - values.begin(), 14);
}

TEST_F(Fit, TheMovingAverageIsWhatIsValidated) {
  train::Trainer fast = trainer({.moving_average = 0.5}, 0.05);
  train::Trainer slow = trainer({.moving_average = 0.9999}, 0.05);
  std::vector<double> losses;
  for (train::Trainer* t : {&fast, &slow}) {
    const auto plan = t->plan({.batch = 32, .validation_batch = 32}, device_);
    losses.push_back(t->fit(plan, toy_data(320).batch(32), toy_data(64).batch(32), {.epochs = 2})
                         .history.back()
                         .at("validation_loss"));
    t->release();
  }
  EXPECT_LT(losses[0], 0.7);
  EXPECT_GT(losses[1], 1.0) << "it should still be near the initial weights";
}

TEST_F(Fit, StopsEarlyAndKeepsTheBestCheckpoint) {
  const fs::path folder = fs::path(::testing::TempDir()) / fmt::format("fit-{}", ::getpid());
  train::Trainer t = trainer({}, 0.05);
  const auto plan = t.plan({.batch = 32, .validation_batch = 32}, device_);
  const auto result = t.fit(plan, toy_data(64).batch(32), toy_data(64).batch(32),
                            {.epochs = 200,
                             .checkpoints = folder.string(),
                             .best = "validation_loss",
                             .early_stopping = {.patience = 2, .min_delta = 0.01}});
  EXPECT_LT(result.epochs, 200);
  EXPECT_THAT(result.stopped, HasSubstr("validation_loss has not improved for 2 epochs"));
  EXPECT_TRUE(fs::exists(folder / "best"));
  std::size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(folder)) kept += entry.is_directory() ? 1 : 0;
  EXPECT_LE(kept, 3U);
  fs::remove_all(folder);
}

TEST_F(Fit, MistakesAreNamed) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 8}, device_);
  const auto data = toy_data(32).batch(8);
  EXPECT_THAT(message_of([&] { t.fit(plan, data, {}); }), HasSubstr("give at least one"));
  EXPECT_THAT(message_of([&] { t.fit(plan, data.repeat(), {.epochs = 1}); }),
              HasSubstr("never ends"));
  EXPECT_THAT(message_of([&] { t.fit(plan, toy_data(32, 12).batch(8), {.epochs = 1}); }),
              HasSubstr(",12]"));
  EXPECT_THAT(message_of([&] { t.fit(plan, toy_data(32), {.epochs = 1}); }),
              HasSubstr("batches of (input, target)"));
  EXPECT_THAT(message_of([&] { t.fit(plan, data, {.epochs = 1, .best = "sharpness"}); }),
              HasSubstr("not a metric of this run; there will be loss, accuracy"));
  EXPECT_THAT(message_of([&] { t.plan({.batch = 0}, device_); }), HasSubstr("a batch of 0"));
  EXPECT_THAT(message_of([&] { t.plan(toy_data(30).batch(8).element_spec(), device_); }),
              HasSubstr("drop_remainder"));
  EXPECT_THAT(message_of([&] { trainer({.moving_average = 1}); }), HasSubstr("moving_average 1"));
  const auto elsewhere = t.plan({.batch = 8, .budget = GiB(1)}, plan::describe_device("h200"));
  EXPECT_THAT(message_of([&] { t.fit(elsewhere, data, {.epochs = 1}); }), HasSubstr("h200"));
}

TEST_F(Fit, ABatchThatIsNoneIsNotCounted) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 8}, device_);
  const auto counted = [&] {
    return std::pair(t.optimizer().step(), t.optimizer().state()[1].tensor().item<float>());
  };
  const auto wrong = toy_data(24).batch(8).concatenate(toy_data(8, 15).batch(8));
  EXPECT_THROW(t.fit(plan, wrong, {.epochs = 1}), InvalidArgument);
  EXPECT_EQ(counted(), std::pair(std::int64_t{3}, 3.0F));
  // A label that is no class is found in the step, whose number is the next one's.
  const auto bad = toy_data(8, 16, 9).batch(8);
  EXPECT_THROW(t.fit(plan, bad, {.epochs = 1}), InvalidArgument);
  EXPECT_EQ(t.optimizer().step(), 3);
  const Tensor x = Tensor::zeros({8, 16}, DType::f32, device_);
  Tensor y = Tensor::zeros({8}, DType::i64, device_);
  y.mutable_data<std::int64_t>()[3] = 77;
  EXPECT_THROW(t.step(plan, x, y), InvalidArgument);
  EXPECT_EQ(t.optimizer().step(), 3);
}

TEST_F(Fit, ASecondCallGoesOnDrawingAtRandom) {
  const auto make = [] {
    return train::Trainer(nn::vit({.classes = 4,
                                   .channels = 1,
                                   .size = 4,
                                   .patch = 2,
                                   .features = 16,
                                   .layers = 1,
                                   .heads = 2,
                                   .dropout = 0.5}),
                          optim::sgd({.lr = 1e-3}), {});
  };
  const auto data = toy_data(40)
                        .map([](const data::Element& e) {
                          return data::Element{e[0].tensor().reshape({1, 4, 4}), e[1]};
                        })
                        .batch(8);
  train::Trainer once = make();
  const auto plan = once.plan({.batch = 8}, device_);
  const auto whole = once.fit(plan, data, {.epochs = 2}).losses;
  once.release();
  train::Trainer twice = make();
  const auto again = twice.plan({.batch = 8}, device_);
  std::vector<float> losses = twice.fit(again, data, {.epochs = 1}).losses;
  const auto second = twice.fit(again, data, {.epochs = 1}).losses;
  losses.insert(losses.end(), second.begin(), second.end());
  EXPECT_EQ(losses, whole);
}

TEST_F(Fit, APlanOfAnotherTrainerIsRefused) {
  const auto data = toy_data(32).batch(8);
  const auto plan_of = [&](train::Trainer other) { return other.plan({.batch = 8}, device_); };
  train::Trainer t = trainer();
  const auto plain = plan_of({nn::mlp({.in = 16, .hidden = {64}, .classes = 4}), optim::adam()});
  EXPECT_THAT(message_of([&] { t.fit(plain, data, {.epochs = 1}); }), HasSubstr("another trainer"));
  const auto wide = plan_of({nn::mlp({.in = 16, .hidden = {32, 32}, .classes = 4}), optim::adam()});
  EXPECT_THAT(message_of([&] { t.fit(wide, data, {.epochs = 1}); }), HasSubstr("weight"));
  const auto state =
      plan_of({nn::mlp({.in = 16, .hidden = {64, 64}, .classes = 4}), optim::sgd({.lr = 0.1})});
  EXPECT_THAT(message_of([&] { t.fit(state, data, {.epochs = 1}); }), HasSubstr("optimizer."));
  EXPECT_EQ(t.fit(t.plan({.batch = 8}, device_), data, {.epochs = 1}).steps, 4);
  EXPECT_THAT(message_of([&] { t.fit(wide, data, {.epochs = 1}); }), HasSubstr("weight"));
  EXPECT_EQ(t.fit(t.plan({.batch = 8}, device_), data, {.epochs = 1}).steps, 4);
}

TEST_F(Fit, CallbacksMayEvaluate) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 32, .validation_batch = 32}, device_);
  std::vector<double> losses;
  const train::Callback look{.on_epoch = [&](train::Run& run) {
    losses.push_back(run.trainer().evaluate(plan, toy_data(64).batch(32)).at("loss"));
    EXPECT_THROW(run.trainer().release(), InvalidArgument);
  }};
  const auto result = t.fit(plan, toy_data(320).batch(32), toy_data(64).batch(32),
                            {.epochs = 2, .callbacks = {look}});
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[1], result.history[1].at("validation_loss"));
  EXPECT_EQ(result.planned_peak, result.measured_peak);
}

TEST_F(Fit, AnExceptionOfACallbackLeavesATrainerThatGoesOn) {
  train::Trainer t = trainer();
  const auto plan = t.plan({.batch = 8}, device_);
  const auto data = toy_data(64).batch(8);
  const train::Callback bad{.on_step = [](train::Run& run) {
    if (run.step() == 3) throw DataError("mine");
  }};
  EXPECT_THROW(t.fit(plan, data, {.epochs = 1, .callbacks = {bad}}), DataError);
  EXPECT_EQ(t.fit(plan, data, {.epochs = 1}).steps, 8);
  t.reset();
  EXPECT_EQ(device_.budget().used(), 0U);
}

}  // namespace
}  // namespace plimsoll
