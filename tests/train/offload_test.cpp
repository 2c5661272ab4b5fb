// A training whose state and activations are in the host's memory while they are not needed.
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;

/// Two logical devices on the CPU: one to train on, one for what it has no room for.
class OffloadedTraining : public ::testing::Test {
 protected:
  train::Trainer make(const train::TrainerOptions& options = {.allow_split = false}) const {
    return {nn::mlp({.in = 16, .hidden = std::vector<std::int64_t>(6, 256), .classes = 4}),
            optim::adam(), options};
  }
  plan::DeviceDescription quick() const {
    plan::DeviceDescription described = plan::describe_device("cpu");
    described.host_bytes_per_second = 1e12;
    return described;
  }
  train::FitResult fit(train::Trainer& trainer, const train::TrainingPlan& plan,
                       const train::FitOptions& options = {.epochs = 2}) const {
    train::FitOptions with = options;
    with.host = input_;
    return trainer.fit(plan, toy_data(512 * 3).batch(512), with);
  }
  /// The least without the host's memory.
  Bytes least(std::int64_t batch) const {
    train::Trainer trainer = make();
    try {
      trainer.plan({.batch = batch, .budget = KiB(64)}, device_);
    } catch (const BudgetTooSmall& error) {
      return test::parse_refusal(error.what()).budget;
    }
    return 0;
  }

  std::vector<Device> split_ =
      test::own_cpu({.limit = MiB(128)}).split({MiB(32), MiB(32), MiB(32)});
  Device device_ = split_[0];
  Device host_ = split_[1];
  Device input_ = split_[2];
};

TEST_F(OffloadedTraining, GivesTheSameBitsInLessMemory) {
  train::Trainer plain = make();
  const auto ample = plain.plan({.batch = 512}, device_);
  const auto expected = fit(plain, ample);
  plain.release();

  const Bytes smallest = least(512);
  ASSERT_GT(smallest, 0U);
  // Less than the least that there is without.
  train::Trainer trainer = make();
  const train::PlanRequest request{
      .batch = 512, .budget = smallest - smallest / 6, .offload = MiB(24), .host = host_};
  const auto plan = trainer.plan(request, device_);
  EXPECT_LE(plan.total(), request.budget);
  EXPECT_GT(plan.away.bytes, 0U);
  EXPECT_LE(plan.pinned(), MiB(24));
  const Bytes before = host_.budget().used();
  const auto result = fit(trainer, plan);
  EXPECT_EQ(result.losses, expected.losses);
  EXPECT_EQ(result.measured_peak, result.planned_peak);
  EXPECT_GE(host_.budget().used() - before, plan.pinned());
  trainer.release();
  EXPECT_EQ(host_.budget().used(), before);
}

TEST_F(OffloadedTraining, IsSavedAndResumedWhereverItsStateIs) {
  const std::string folder = ::testing::TempDir() + "/offloaded_training";
  std::filesystem::remove_all(folder);
  train::Trainer plain = make();
  const auto ample = plain.plan({.batch = 512}, device_);
  const auto expected = fit(plain, ample, {.epochs = 4});
  plain.release();
  const train::PlanRequest request{
      .batch = 512, .budget = least(512) - least(512) / 6, .offload = MiB(24), .host = host_};
  {
    train::Trainer trainer = make();
    const auto plan = trainer.plan(request, device_);
    ASSERT_GT(plan.away.bytes, 0U);
    fit(trainer, plan, {.epochs = 2, .checkpoints = folder});
  }
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 512}, device_);
  const auto resumed = fit(trainer, plan, {.epochs = 4, .checkpoints = folder, .resume = true});
  EXPECT_EQ(resumed.losses, expected.losses);
  std::filesystem::remove_all(folder);
}

TEST_F(OffloadedTraining, WhereTheHostIsFullALoweredLimitDoesWithout) {
  train::Trainer plain = make();
  const auto expected = fit(plain, plain.plan({.batch = 512}, device_), {.epochs = 2});
  plain.release();
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 512, .offload = MiB(24), .host = host_}, device_);
  const Bytes lower = least(512) + KiB(512);
  std::optional<Block> rest;
  const auto result =
      fit(trainer, plan, {.epochs = 2, .callbacks = {{.on_step = [&](train::Run& run) {
                                         if (run.step() != 2) return;
                                         const Bytes left = host_.budget().available();
                                         rest = host_.allocate(left - MiB(2), Tag::user,
                                                               "somebody else");
                                         run.device().budget().set_limit(lower);
                                       }}}});
  EXPECT_EQ(device_.budget().limit(), lower);
  EXPECT_EQ(result.replans, 1);
  EXPECT_EQ(result.losses, expected.losses);
}

TEST_F(OffloadedTraining, PartsOfABatchShareIt) {
  train::Trainer plain = make({.accumulate = 4});
  const auto expected = fit(plain, plain.plan({.batch = 512}, device_), {.epochs = 2});
  plain.release();
  for (const Bytes offload : {MiB(1), MiB(24)}) {
    train::Trainer trainer = make({.accumulate = 4, .allow_split = false});
    Bytes budget = 0;
    try {
      trainer.plan({.batch = 512, .budget = KiB(64), .offload = offload, .host = host_}, device_);
    } catch (const BudgetTooSmall& error) {
      budget = test::parse_refusal(error.what()).budget;
    }
    ASSERT_GT(budget, 0U);
    const auto plan =
        trainer.plan({.batch = 512, .budget = budget, .offload = offload, .host = host_}, device_);
    EXPECT_EQ(plan.parts(), 4);
    EXPECT_GT(plan.pinned(), 0U);
    EXPECT_EQ(fit(trainer, plan, {.epochs = 2}).losses, expected.losses);
    trainer.release();
  }
}

TEST_F(OffloadedTraining, NeedsAHostThatIsNotTheDevice) {
  train::Trainer trainer = make();
  EXPECT_THROW(trainer.plan({.batch = 8, .offload = MiB(1)}, device_), InvalidArgument);
  EXPECT_THROW(trainer.plan({.batch = 8, .offload = MiB(1), .host = device_}, device_),
               InvalidArgument);
  // For a device that is not there, bytes are enough.
  EXPECT_NO_THROW(trainer.plan({.batch = 8, .offload = MiB(1)}, plan::describe_device("h200")));
}

TEST_F(OffloadedTraining, ARefusalCountsWithTheHostsMemory) {
  train::Trainer trainer = make();
  try {
    trainer.plan({.batch = 512, .budget = KiB(64), .offload = MiB(24), .host = host_}, device_);
    FAIL();
  } catch (const BudgetTooSmall& error) {
    const test::Refusal refusal = test::parse_refusal(error.what());
    EXPECT_LT(refusal.budget, least(512));
    const auto plan = trainer.plan(
        {.batch = 512, .budget = refusal.budget, .offload = MiB(24), .host = host_}, device_);
    EXPECT_LE(plan.total(), refusal.budget);
    fit(trainer, plan, {.steps = 1});
  }
}

TEST_F(OffloadedTraining, ALoweredLimitMovesMoreOfIt) {
  train::Trainer plain = make();
  const auto expected = fit(plain, plain.plan({.batch = 512}, device_), {.epochs = 2});
  plain.release();
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 512, .offload = MiB(24), .host = host_}, device_);
  EXPECT_EQ(plan.pinned(), 0U);
  const Bytes lower = least(512) + KiB(512);
  const auto result =
      fit(trainer, plan, {.epochs = 2, .callbacks = {{.on_step = [&](train::Run& run) {
                                         if (run.step() == 2)
                                           run.device().budget().set_limit(lower);
                                       }}}});
  EXPECT_EQ(device_.budget().limit(), lower);
  EXPECT_EQ(result.replans, 1);
  EXPECT_EQ(result.losses, expected.losses);
}

}  // namespace
}  // namespace plimsoll
