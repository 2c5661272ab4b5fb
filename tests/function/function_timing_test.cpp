// A training step of one's own beside the trainer's.
#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include <plimsoll/plimsoll.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

constexpr double kMost = 1.05;
constexpr int kRounds = 80;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(FunctionTiming, AStepOfOnesOwnTakesTheTimeAndTheBytesOfTheTrainers) {
  const Device device = test::own_cpu({.limit = MiB(512)});
  const auto make = [] { return nn::lenet({.size = 28}); };
  const Tensor x = random_normal({64, 1, 28, 28}, 0, 1, {.device = device});
  const Tensor y = zeros({64}, {.dtype = DType::i64, .device = device});

  train::Trainer trainer(make(), optim::sgd({.lr = 0.01, .momentum = 0.9}));
  const auto plan = trainer.plan({.batch = 64}, device);
  ASSERT_EQ(plan.parts(), 1);

  const nn::Model net = make();
  auto optimizer = optim::sgd({.lr = 0.01, .momentum = 0.9});
  const auto step = function([&](const Tensor& in, const Tensor& labels) {
    ops::GradientTape tape;
    const Tensor loss = net.loss(in, labels);
    optimizer.apply(tape.gradient(loss, net));
    return loss;
  });
  EXPECT_LE(static_cast<double>(step.plan(x, y).arena_bytes()),
            kMost * static_cast<double>(plan.planned_peak()));

  double trainers = 1e9;
  double own = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    trainers = std::min(trainers, seconds_of([&] {
                          trainer.step(plan, x, y);
                          (void)trainer.loss();
                        }));
    own = std::min(own, seconds_of([&] { (void)step(x, y).item<float>(); }));
  }
  trainer.step(plan, x, y);
  EXPECT_EQ(trainer.loss(), step(x, y).item<float>()) << "they have taken the same steps";
  EXPECT_LE(own, kMost * trainers);
}

}  // namespace
}  // namespace plimsoll
