// A training's memory when its range moves.

#include "train/training_memory.h"
#include "support/own_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;
using ::testing::HasSubstr;

class MovingRange : public ::testing::Test {
 protected:
  static train::Trainer make() {
    return {nn::mlp({.in = 16, .hidden = std::vector<std::int64_t>(8, 96), .classes = 4}),
            optim::adam(),
            {.allow_split = false}};
  }
  /// A plan like `plan` whose range is as long as all of the device.
  train::TrainingPlan too_large(train::TrainingPlan plan) const {
    plan.range = device_.budget().limit();
    return plan;
  }

  Device device_ = test::own_cpu({.limit = MiB(32)});
};

TEST_F(MovingRange, ARefusedPlanLeavesTheOldRangeThoughSomebodyRunsInIt) {
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 2048}, device_);
  train::TrainingMemory memory(plan, device_);
  auto running = memory.executor(*plan.phases.front().steps.front(), false);
  const Block rest =
      device_.allocate(align_down(device_.budget().available(), MiB(1)), Tag::user, "rest");
  const Bytes used = device_.budget().used();
  for (int i = 0; i < 2; ++i) EXPECT_THROW(memory.replan(too_large(plan)), OutOfMemory);
  EXPECT_EQ(device_.budget().used(), used) << "the range was not taken twice";
  EXPECT_EQ(memory.plan().range, plan.range);
  running.reset();
  memory.replan(plan);
}

TEST_F(MovingRange, ALostRangeIsAnErrorAndIsTakenAgain) {
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 2048}, device_);
  train::TrainingMemory memory(plan, device_);
  Block taken;
  // Somebody else is quicker when the range is free for a moment.
  const ReliefHandle quick =
      device_.budget().on_relief(ReliefOrder::replan, "quick", [&](Bytes) -> Bytes {
        if (!taken) taken = device_.allocate(device_.budget().available(), Tag::user, "quick");
        return 0;
      });
  try {
    memory.replan(too_large(plan));
    FAIL();
  } catch (const OutOfMemory& error) {
    FAIL() << "who catches this goes on: " << error.what();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("others took them"));
  }
  const plan::Plan& step = *plan.phases.front().steps.front();
  EXPECT_THROW(memory.executor(step, false), OutOfMemory);
  EXPECT_THROW(memory.replan(plan), Error);
  taken = Block();
  EXPECT_NE(memory.executor(step, false), nullptr);
  memory.replan(plan);
}

/// A callback that evaluates, in a training whose device is all but full.
class FullDevice : public MovingRange {
 protected:
  /// Calls `use` at the second step with less than `free` to be had.
  train::FitResult fit(train::Trainer& trainer, const train::TrainingPlan& plan, Bytes free,
                       const std::function<void(train::Run&)>& use) {
    const train::Callback callback{.on_step = [&](train::Run& run) {
      if (run.step() != 2) return;
      run.device().arena().trim();
      const Bytes left = run.device().budget().available();
      const Block fill = run.device().allocate(left - std::min(left, free), Tag::user, "fill");
      use(run);
    }};
    train::FitOptions options{.epochs = 1, .callbacks = {callback}};
    options.measure_after = 0;
    return trainer.fit(plan, toy_data(2048 * 4).batch(2048), options);
  }
};

TEST_F(FullDevice, AnEvaluationThatIsShortOfMemoryLeavesTheTrainingItsRange) {
  train::Trainer calm = make();
  const auto expected = fit(calm, calm.plan({.batch = 2048, .validation_batch = 64}, device_),
                            MiB(4), [](train::Run&) {});
  calm.release();
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 2048, .validation_batch = 64}, device_);
  int seen = 0;
  bool refused = false;
  const auto greedy = toy_data(64 * 4).batch(64).map([&](const data::Element& element) {
    if (++seen == 3) {
      try {
        const Block scratch = device_.allocate(MiB(4), Tag::user, "scratch");
      } catch (const OutOfMemory&) {
        refused = true;
      }
    }
    return element;
  });
  train::Metrics metrics;
  const auto result = fit(trainer, plan, MiB(1),
                          [&](train::Run& run) { metrics = run.trainer().evaluate(plan, greedy); });
  EXPECT_TRUE(refused) << "nothing can be given while the evaluation runs";
  EXPECT_EQ(metrics.count("loss"), 1U);
  EXPECT_EQ(result.losses, expected.losses);
}

TEST_F(FullDevice, StepsOfACallbackDoNotKeepTheOldRange) {
  train::Trainer trainer = make();
  const auto plan = trainer.plan({.batch = 2048}, device_);
  const auto type = trainer.model().input_type(2048);
  const Device data = test::own_cpu({.limit = MiB(4)});
  const Tensor x = Tensor::zeros(type.shape, type.dtype, data);
  const Tensor y = Tensor::zeros({2048}, DType::i64, data);
  const auto result = fit(trainer, plan, MiB(1), [&](train::Run& run) {
    run.trainer().step(plan, x, y);
    const float loss = run.trainer().loss();
    const Block scratch = device_.allocate(MiB(2), Tag::user, "scratch");
    EXPECT_EQ(run.trainer().loss(), loss);
    run.trainer().step(plan, x, y);
  });
  EXPECT_GE(result.replans, 1);
  EXPECT_EQ(result.steps, 4);
}

}  // namespace
}  // namespace plimsoll
