// A trainer that plans, trains and lets go more than once.
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;

class Again : public ::testing::Test {
 protected:
  static train::Trainer make(const train::TrainerOptions& options = {}) {
    return {nn::mlp({.in = 16, .hidden = std::vector<std::int64_t>(8, 96), .classes = 4}),
            optim::adam({.lr = 1e-3}), options};
  }
  static Bytes least(std::int64_t batch, const train::TrainerOptions& options = {}) {
    const Device tiny = test::own_cpu({.limit = KiB(256), .page_size = KiB(4)});
    try {
      (void)make(options).plan({.batch = batch}, tiny);
    } catch (const BudgetTooSmall& error) {
      return test::parse_refusal(error.what()).budget;
    }
    return 0;
  }
  static double loss_of(train::Trainer& trainer) {
    return trainer.evaluate(toy_data(128).batch(64)).at("loss");
  }
};

TEST_F(Again, PlanningCountsWhatTheTrainerHoldsAsItsOwn) {
  const train::TrainerOptions whole{.allow_split = false};
  const Device device = test::own_cpu({.limit = least(512, whole) + KiB(64), .page_size = KiB(4)});
  train::Trainer trainer = make(whole);
  const auto data = toy_data(512 * 3).batch(512);
  const auto first = trainer.plan({.batch = 512}, device);
  const auto expected = trainer.fit(first, data, {.epochs = 1});
  for (int i = 0; i < 3; ++i) {
    const auto again = trainer.plan({.batch = 512}, device);
    EXPECT_EQ(again.others, 0U);
    EXPECT_EQ(again.total(), first.total());
    EXPECT_EQ(trainer.fit(again, data, {.epochs = 1}).steps, 3);
  }
  EXPECT_LE(device.budget().peak(), device.budget().limit());
  EXPECT_LT(loss_of(trainer), static_cast<double>(expected.losses.front()));
}

TEST_F(Again, FitPlansForItselfAsOftenAsItIsCalled) {
  const train::TrainerOptions whole{.allow_split = false};
  const Device device = test::own_cpu({.limit = least(512, whole) + KiB(256), .page_size = KiB(4)});
  train::TrainerOptions options = whole;
  options.device = device;
  train::Trainer trainer = make(options);
  const auto data = toy_data(512 * 2).batch(512);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(trainer.fit(data, {.epochs = 1}).steps, 2);
}

TEST_F(Again, AnotherBatchGoesOnWithTheSameWeights) {
  // One whole, the other in parts: their state is laid out differently.
  const Device device = test::own_cpu({.limit = MiB(12), .page_size = KiB(4)});
  train::TrainerOptions options{.device = device};
  train::Trainer trainer = make(options);
  trainer.fit(trainer.plan({.batch = 64, .validation_batch = 64}, device),
              toy_data(64 * 20).batch(64), {.epochs = 1});
  const double before = loss_of(trainer);
  const auto split = trainer.plan({.batch = 64 * 256, .validation_batch = 64}, device);
  ASSERT_GT(split.parts(), 1);
  trainer.materialize(split);
  EXPECT_EQ(loss_of(trainer), before);
  EXPECT_LE(device.budget().peak(), device.budget().limit());
}

TEST_F(Again, ReleaseGivesAllBackButTheWeights) {
  const Device device = test::own_cpu({.limit = MiB(16), .page_size = KiB(4)});
  train::TrainerOptions options{.device = device};
  train::Trainer trainer = make(options);
  const auto plan = trainer.plan({.batch = 512, .validation_batch = 64}, device);
  trainer.fit(plan, toy_data(512 * 4).batch(512), {.epochs = 2});
  const double before = loss_of(trainer);
  const Bytes held = device.budget().used();
  trainer.release();
  Bytes weights = 0;
  for (const nn::Parameter& p : trainer.model().parameters())
    weights += align_up(p.type().bytes(), 256);
  EXPECT_LT(device.budget().used(), held / 2);
  EXPECT_LE(device.budget().used(), weights + 2 * KiB(4));
  EXPECT_EQ(loss_of(trainer), before);
  // It goes on from there.
  trainer.fit(trainer.plan({.batch = 512}, device), toy_data(512 * 4).batch(512), {.epochs = 1});
  EXPECT_LT(loss_of(trainer), before);
}

TEST_F(Again, ResetBeginsAnew) {
  const Device device = test::own_cpu({.limit = MiB(16), .page_size = KiB(4)});
  train::TrainerOptions options{.device = device};
  train::Trainer trainer = make(options);
  const auto data = toy_data(64 * 8).batch(64);
  const auto plan = trainer.plan({.batch = 64}, device);
  const auto first = trainer.fit(plan, data, {.epochs = 1}).losses;
  trainer.reset();
  EXPECT_EQ(device.budget().used(), 0U);
  EXPECT_EQ(trainer.fit(trainer.plan({.batch = 64}, device), data, {.epochs = 1}).losses, first);
}

TEST_F(Again, NeitherIsForACallback) {
  const Device device = test::own_cpu({.limit = MiB(16)});
  train::Trainer trainer = make();
  const train::Callback lets_go{.on_step = [](train::Run& run) {
    EXPECT_THROW(run.trainer().release(), InvalidArgument);
    EXPECT_THROW(run.trainer().reset(), InvalidArgument);
  }};
  trainer.fit(trainer.plan({.batch = 64}, device), toy_data(64).batch(64),
              {.epochs = 1, .callbacks = {lets_go}});
}

}  // namespace
}  // namespace plimsoll
