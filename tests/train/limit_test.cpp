#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/control.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

using test::toy_data;
using ::testing::HasSubstr;

constexpr Bytes kAmple = MiB(16);

class MovingLimit : public ::testing::Test {
 protected:
  static train::Trainer make() {
    return {nn::mlp({.in = 16, .hidden = std::vector<std::int64_t>(8, 96), .classes = 4}),
            optim::adam(),
            {.allow_split = false}};
  }
  train::FitResult fit(const Device& device, const train::Callback& callback = {},
                       std::int64_t epochs = 2) {
    train::Trainer trainer = make();
    const auto plan = trainer.plan({.batch = 512, .validation_batch = 64}, device);
    return trainer.fit(plan, toy_data(512 * 5).batch(512).prefetch(), toy_data(64).batch(64),
                       {.epochs = epochs, .callbacks = {callback}});
  }
  /// The smallest budget for that training.
  static Bytes least() {
    train::Trainer trainer = make();
    const Device tiny = test::own_cpu({.limit = MiB(1)});
    try {
      trainer.plan({.batch = 512, .validation_batch = 64}, tiny);
    } catch (const BudgetTooSmall& error) {
      return test::parse_refusal(error.what()).budget;
    }
    return 0;
  }
};

TEST_F(MovingLimit, LoweredByACallbackHoldsAndChangesNoNumber) {
  const auto expected = fit(test::own_cpu({.limit = kAmple}));
  ASSERT_EQ(expected.replans, 0);
  const Device device = test::own_cpu({.limit = kAmple});
  const Bytes lower = least() + MiB(1) / 4;
  ASSERT_LT(lower, expected.charged_peak);
  Bytes most = 0;
  const auto result = fit(device, {.on_step = [&](train::Run& run) {
                            if (run.step() == 2) run.device().budget().set_limit(lower);
                            if (run.step() > 2) most = std::max(most, run.device().budget().used());
                          }});
  EXPECT_EQ(device.budget().limit(), lower);
  EXPECT_LE(most, lower);
  EXPECT_EQ(result.replans, 1);
  EXPECT_EQ(result.losses, expected.losses);
  EXPECT_EQ(result.history, expected.history);
}

TEST_F(MovingLimit, LoweredByAnotherThreadTakesEffectAtTheNextStep) {
  const auto expected = fit(test::own_cpu({.limit = kAmple}));
  const Device device = test::own_cpu({.limit = kAmple});
  const Bytes lower = least() + MiB(1) / 4;
  std::thread other;
  std::atomic<bool> lowered{false};
  const auto begin = [&](train::Run& run) {
    if (lowered && run.step() >= 10) run.stop("enough");
    if (run.step() != 2) return;
    other = std::thread([&] {
      device.budget().set_limit(lower);
      lowered = true;
    });
  };
  auto result = fit(device, {.on_step = begin}, 10'000);
  other.join();
  EXPECT_TRUE(lowered);
  EXPECT_EQ(device.budget().limit(), lower);
  EXPECT_EQ(result.replans, 1);
  result.losses.resize(10);
  EXPECT_EQ(result.losses, expected.losses);
}

TEST_F(MovingLimit, LoweredByAnotherThreadTakesEffectWithinAValidation) {
  const auto run = [&](const Device& device, const data::Dataset& validation) {
    train::Trainer trainer = make();
    const auto plan = trainer.plan({.batch = 512, .validation_batch = 64}, device);
    return trainer.fit(plan, toy_data(512 * 2).batch(512), validation, {.epochs = 1});
  };
  const auto data = toy_data(64 * 40).batch(64);
  const auto expected = run(test::own_cpu({.limit = kAmple}), data);
  const Device device = test::own_cpu({.limit = kAmple});
  const Bytes lower = least() + MiB(1) / 4;
  std::thread other;
  int seen = 0;
  std::atomic<bool> lowered{false};
  bool in_time = false;
  const auto watched = data.map([&](const data::Element& element) {
    if (++seen == 3) {
      other = std::thread([&] {
        try {
          device.budget().set_limit(lower);
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
        lowered = true;
      });
    }
    // The validation does not end before it was served, but for a long time.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (seen > 3 && !lowered && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    if (seen == 40) in_time = lowered;
    return element;
  });
  const auto result = run(device, watched);
  other.join();
  EXPECT_TRUE(in_time);
  EXPECT_EQ(device.budget().limit(), lower);
  EXPECT_EQ(result.history, expected.history);
  EXPECT_EQ(result.losses, expected.losses);
}

TEST_F(MovingLimit, TooLowAOneIsRefusedAndTheOldOneStays) {
  const Device device = test::own_cpu({.limit = kAmple});
  const auto result = fit(device, {.on_step = [&](train::Run& run) {
                            if (run.step() != 2) return;
                            try {
                              run.device().budget().set_limit(least() / 2);
                              ADD_FAILURE() << "it was taken";
                            } catch (const Error& error) {
                              EXPECT_THAT(error.what(), HasSubstr("parameters"));
                            }
                          }});
  EXPECT_EQ(device.budget().limit(), kAmple);
  EXPECT_EQ(result.steps, 10);
}

TEST_F(MovingLimit, RaisedAllowsAFasterPlanWithTheSameNumbers) {
  const auto expected = fit(test::own_cpu({.limit = kAmple}));
  const Device device = test::own_cpu({.limit = least()});
  const auto result = fit(device, {.on_step = [&](train::Run& run) {
                            if (run.step() == 2) run.device().budget().set_limit(kAmple);
                          }});
  EXPECT_EQ(result.replans, 1);
  EXPECT_EQ(result.losses, expected.losses);
}

TEST_F(MovingLimit, RaisedAfterOpsWereMeasuredAllowsAFasterPlanToo) {
  // A plan made with measured times is compared with the old one by the same times.
  const Device device = test::own_cpu({.limit = least()});
  const auto result = fit(device, {.on_step = [&](train::Run& run) {
                            if (run.step() == 6) run.device().budget().set_limit(kAmple);
                          }});
  EXPECT_GT(result.corrected_step_seconds, 0) << "nothing was measured";
  EXPECT_EQ(result.replans, 1);
}

TEST_F(MovingLimit, WhatComesAfterATrainingUsesTheMemoryThatIsThere) {
  for (const Bytes less : {KiB(128), KiB(384)}) {
    const Device device = test::own_cpu({.limit = kAmple, .page_size = KiB(4)});
    train::Trainer trainer = make();
    const auto plan =
        trainer.plan({.batch = 512, .validation_batch = 64, .input = KiB(512)}, device);
    const Bytes lower = plan.total() - less;
    const auto data = toy_data(512 * 3).batch(512);
    const train::Callback lowers{.on_step = [&](train::Run& run) {
      if (run.step() == 2) run.device().budget().set_limit(lower);
    }};
    const auto first = trainer.fit(plan, data, {.epochs = 1, .callbacks = {lowers}});
    EXPECT_EQ(first.steps, 3);
    EXPECT_EQ(trainer.evaluate(plan, toy_data(128).batch(64)).count("loss"), 1U);
    EXPECT_EQ(trainer.predict(plan, Tensor::zeros({2, 16}, DType::f32, device)).dim(0), 2);
    EXPECT_EQ(trainer.fit(plan, data, {.epochs = 1}).steps, 3);
    const Tensor x = Tensor::zeros({512, 16}, DType::f32, device);
    const Tensor y = Tensor::zeros({512}, DType::i64, device);
    trainer.step(plan, x, y);
    EXPECT_GT(trainer.loss(), 0);
    EXPECT_LE(device.budget().peak(), kAmple);
    EXPECT_EQ(device.budget().limit(), lower);
  }
}

TEST_F(MovingLimit, LoweredAndRaisedAgainGivesThePipelinesTheirShareBack) {
  const Device device = test::own_cpu({.limit = kAmple});
  const auto child = [&](const char* name) {
    for (const Budget& each : device.budget().children()) {
      if (each.name() == name) return each;
    }
    return device.budget();
  };
  std::map<std::int64_t, Bytes> limits;
  std::map<std::int64_t, Bytes> training;
  fit(device, {.on_step = [&](train::Run& run) {
        limits[run.step()] = child("input").limit();
        training[run.step()] = child("training").used();
        if (run.step() == 2) run.device().budget().set_limit(least() + MiB(1) / 4);
        if (run.step() == 5) run.device().budget().set_limit(kAmple);
      }});
  EXPECT_LT(limits[4], limits[1]);
  EXPECT_LE(limits[4] + training[4], least() + MiB(1) / 4);
  // All that the training leaves is lent again, to the unit that shares are counted in.
  const Bytes unit = KiB(64);
  EXPECT_LE(training[7] + limits[7], kAmple);
  EXPECT_GT(training[7] + limits[7] + unit, training[1] + limits[1]);
}

TEST_F(MovingLimit, MovesOverASocketThatOnlyItsOwnerCanOpen) {
  const Device device = test::own_cpu({.limit = kAmple});
  const train::ControlServer server(device);
  ASSERT_FALSE(server.path().empty());
  struct stat is = {};
  ASSERT_EQ(::stat(server.path().c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0600U);
  EXPECT_EQ(train::control_status(::getpid()).limit, kAmple);
  EXPECT_EQ(train::control_set_limit(::getpid(), MiB(4)).limit, MiB(4));
  EXPECT_EQ(device.budget().limit(), MiB(4));
  const Block held = device.allocate(MiB(2), Tag::user, "held");
  try {
    train::control_set_limit(::getpid(), MiB(1));
    FAIL();
  } catch (const BudgetTooSmall& error) {
    EXPECT_THAT(error.what(), HasSubstr("held"));
  }
  EXPECT_EQ(device.budget().limit(), MiB(4));
  EXPECT_THROW(train::control_status(1), InvalidArgument);
}

TEST(ShortPipeline, IsRefusedAtOnceWhileTheTrainingWaitsForIt) {
  const Device device = test::own_cpu({.limit = MiB(48)});
  data::MapFunction large;
  large.name = "large";
  large.run = [](const data::Element& element, data::MapContext& context) {
    (void)context.empty(Shape{1 << 20}, DType::f32);
    return element;
  };
  const auto dataset = toy_data(32 * 60).map(large, {.parallel = 2}).batch(32).prefetch();
  train::Trainer trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}), optim::adam());
  const auto plan = trainer.plan({.batch = 32, .input = MiB(24)}, device);
  std::vector<Tensor> held;
  auto last = std::chrono::steady_clock::now();
  std::chrono::duration<double> longest{};
  const auto look = [&] {
    longest =
        std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - last));
    last = std::chrono::steady_clock::now();
  };
  const train::Callback fill{.on_step = [&](train::Run& run) {
    look();
    if (run.step() != 10) return;
    try {
      for (;;) held.push_back(Tensor::zeros({1 << 18}, DType::f32, device));
    } catch (const OutOfMemory&) {
    }
    last = std::chrono::steady_clock::now();
  }};
  try {
    trainer.fit(plan, dataset, {.epochs = 1, .callbacks = {fill}});
  } catch (const OutOfMemory&) {  // so be it, but soon
  }
  look();
  EXPECT_LT(longest.count(), 20) << "somebody waited for somebody who waited";
}

}  // namespace
}  // namespace plimsoll
