// A training step of one's own on the GPU beside the trainer's.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <plimsoll/plimsoll.h>

#include "support/own_device.h"

namespace plimsoll {
namespace {

constexpr double kMost = 1.05;
constexpr int kRounds = 30;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Work {
  std::string name;
  std::function<nn::Model()> make;
  Tensor x;
  Tensor y;
};

class FunctionOnGpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string why;
    if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
  }

  static Work work(const Device& device) {
    if (GetParam() == "gpt2") {
      const auto make = [] {
        return nn::gpt2({.vocabulary = 4096, .context = 256, .layers = 4, .dropout = 0});
      };
      const Tensor ids = cast(random_uniform({8, 256}, 0, 4095, {.device = device}), DType::i64);
      return {"gpt2", make, ids, ids};
    }
    const auto make = [] { return nn::make_model("resnet18", {.classes = 10, .size = 64}); };
    return {"resnet18", make, random_normal({64, 3, 64, 64}, 0, 1, {.device = device}),
            zeros({64}, {.dtype = DType::i64, .device = device})};
  }
};

TEST_P(FunctionOnGpu, AStepOfOnesOwnTakesTheTimeAndTheBytesOfTheTrainers) {
  const Device device = test::own_device("cuda:0", {.limit = GiB(8)});
  const Device host = test::own_cpu({.limit = MiB(64)});
  const Work given = work(device);
  const std::int64_t batch = given.x.shape()[0];

  train::Trainer trainer(given.make(), optim::sgd({.lr = 0.01, .momentum = 0.9}));
  const auto plan = trainer.plan({.batch = batch}, device);
  ASSERT_EQ(plan.parts(), 1);

  const nn::Model net = given.make();
  auto optimizer = optim::sgd({.lr = 0.01, .momentum = 0.9});
  const auto step = function([&](const Tensor& in, const Tensor& labels) {
    ops::GradientTape tape;
    const Tensor loss = net.loss(in, labels);
    optimizer.apply(tape.gradient(loss, net));
    return loss;
  });
  EXPECT_LE(static_cast<double>(step.plan(given.x, given.y).arena_bytes()),
            kMost * static_cast<double>(plan.planned_peak()));

  double trainers = 1e9;
  double own = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    trainers = std::min(trainers, seconds_of([&] {
                          trainer.step(plan, given.x, given.y);
                          (void)trainer.loss();
                        }));
    own = std::min(own, seconds_of([&] { (void)step(given.x, given.y).to(host).item<float>(); }));
  }
  trainer.step(plan, given.x, given.y);
  EXPECT_EQ(trainer.loss(), step(given.x, given.y).to(host).item<float>())
      << "they have taken the same steps";
  RecordProperty("trainer_ms", std::to_string(trainers * 1e3));
  RecordProperty("own_ms", std::to_string(own * 1e3));
  EXPECT_LE(own, kMost * trainers) << own * 1e3 << " ms against " << trainers * 1e3;
}

INSTANTIATE_TEST_SUITE_P(Models, FunctionOnGpu, ::testing::Values("resnet18", "gpt2"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace plimsoll
