// Training on the GPU: the driver confirms the budget, results are the CPU's within rounding and
// the same to the bit within every budget.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

class TrainingOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
    // Kept open, so that what the context takes is there before anything is measured.
    keep_.emplace(test::own_device("cuda:0"));
  }

  Bytes runtime() const { return keep_->runtime(); }
  Device open(Bytes above_runtime) const {
    return test::own_device("cuda:0", {.limit = runtime() + above_runtime});
  }

  std::optional<Device> keep_;
};

struct Case {
  std::string name;
  nn::Model (*model)();
  std::int64_t classes;
  DType precision;
  double tolerance;
  double rate;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  struct Kind {
    const char* name;
    nn::Model (*make)();
    std::int64_t classes;
  };
  const std::vector<Kind> kinds = {
      {"mlp",
       [] {
         return nn::mlp({.in = 24, .hidden = {40, 40}, .classes = 5});
       },
       5},
      {"lenet", [] { return nn::lenet({.classes = 5, .size = 12}); }, 5},
      {"resnet18", [] { return nn::resnet18(5, {.size = 64, .layout = Layout::channels_last}); },
       5},
      {"unet", [] { return nn::unet({.classes = 3, .channels = 1, .size = 32, .width = 8}); }, 3},
      {"vit",
       [] {
         return nn::vit({.classes = 5,
                         .channels = 3,
                         .size = 32,
                         .patch = 8,
                         .features = 128,
                         .layers = 2,
                         .heads = 2,
                         .dropout = 0.1});
       },
       5},
      {"gpt2",
       [] {
         return nn::gpt2(
             {.vocabulary = 50, .context = 64, .features = 128, .layers = 2, .heads = 2});
       },
       50}};
  for (const Kind& kind : kinds) {
    // Statistics of few values make large steps chaotic: two orders of summation on the CPU are as
    // far apart after some steps as the CPU and the GPU.
    const double rate = std::string(kind.name) == "resnet18" ? 1e-4 : 0.02;
    const auto add = [&](const char* suffix, DType dtype, double tolerance) {
      all.push_back(
          {std::string(kind.name) + suffix, kind.make, kind.classes, dtype, tolerance, rate});
    };
    add("_f32", DType::f32, 2e-3);
    add("_bf16", DType::bf16, 6e-2);
    add("_f16", DType::f16, 2e-2);
  }
  return all;
}

class OnGpuAndCpu : public TrainingOnGpu, public ::testing::WithParamInterface<Case> {};

train::FitResult fit(const Case& c, const Device& device, std::int64_t batch, std::int64_t steps) {
  train::Trainer trainer(c.model(), optim::sgd({.lr = c.rate, .momentum = 0.9}),
                         {.precision = c.precision, .seed = 3, .allow_split = false});
  const auto plan = trainer.plan({.batch = batch}, device);
  EXPECT_LE(plan.total(), device.budget().limit());
  const data::Dataset data = test::any_data(trainer.model(), c.classes, batch * steps).batch(batch);
  train::FitOptions options{.steps = steps};
  if (!device.capabilities().host_memory) options.host = test::own_cpu();
  const auto result = trainer.fit(plan, data, options);
  EXPECT_EQ(result.planned_peak, result.measured_peak);
  EXPECT_LE(result.charged_peak, device.budget().limit());
  return result;
}

TEST_P(OnGpuAndCpu, LossesAgreeOverTwentySteps) {
  const Case& c = GetParam();
  const auto expected = fit(c, test::own_cpu(), 16, 20).losses;
  const auto actual = fit(c, open(GiB(2)), 16, 20).losses;
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], c.tolerance * std::max(1.0F, std::abs(expected[i])))
        << "step " << i;
  }
}

TEST_P(OnGpuAndCpu, LossesAreTheSameToTheBitWithinEveryBudget) {
  const Case& c = GetParam();
  constexpr std::int64_t kBatch = 64;
  const auto plan_within = [&](Bytes budget) {
    train::Trainer trainer(c.model(), optim::sgd({.lr = c.rate, .momentum = 0.9}),
                           {.precision = c.precision, .seed = 3, .allow_split = false});
    return trainer.plan({.batch = kBatch}, open(budget)).charged;
  };
  const Bytes most = plan_within(GiB(4));
  Bytes least = MiB(2);
  try {
    plan_within(least);
  } catch (const BudgetTooSmall& refusal) {
    least = test::parse_refusal(refusal.what()).budget - runtime();
  }
  ASSERT_LE(least, most);
  const auto expected = fit(c, open(most), kBatch, 10).losses;
  for (int i = 0; i < 4; ++i) {
    const Bytes budget = least + (most - least) / 4 * static_cast<Bytes>(i);
    SCOPED_TRACE(format_bytes(budget));
    EXPECT_EQ(fit(c, open(budget), kBatch, 10).losses, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnGpuAndCpu, ::testing::ValuesIn(cases()),
                         [](const auto& named) { return named.param.name; });

TEST_F(TrainingOnGpu, ThePerceptronStaysWithinItsLimitAsTheDriverSeesIt) {
  const Device device = open(MiB(256));
  if (!device.process_used()) GTEST_SKIP() << "the driver does not tell what a process holds";
  train::Trainer trainer(nn::mlp({.in = 784, .hidden = {1024, 1024}, .classes = 10}),
                         optim::adamw(), {.precision = DType::bf16});
  const auto plan = trainer.plan({.batch = 256}, device);
  const Tensor x = Tensor::zeros({256, 784}, DType::f32, device);
  const Tensor y = Tensor::zeros({256}, DType::i64, device);
  std::optional<Bytes> first;
  Bytes highest = 0;
  for (int i = 0; i < 1000; ++i) {
    trainer.step(plan, x, y);
    const float loss = trainer.loss();
    ASSERT_TRUE(std::isfinite(loss)) << "step " << i;
    if (i < 4) continue;
    const Bytes beside = *device.process_used() - device.budget().used();
    if (!first) first = beside;
    highest = std::max(highest, beside);
    ASSERT_EQ(beside, *first) << "step " << i;
    ASSERT_LE(*device.process_used(), device.budget().limit()) << "step " << i;
  }
}

TEST_F(TrainingOnGpu, RecordedStepsOfManySizesStayWithinTheLimitAsTheDriverSeesIt) {
  // Each size has three graphs of about a thousand nodes, for which the driver takes memory.
  const auto make = [] {
    return train::Trainer(nn::vit({.classes = 5,
                                   .channels = 3,
                                   .size = 32,
                                   .patch = 8,
                                   .features = 128,
                                   .layers = 12,
                                   .heads = 2}),
                          optim::adamw({.lr = 1e-3}), {.precision = bf16, .accumulate = 4});
  };
  const Bytes enough = make().plan({.batch = 32}, open(GiB(2))).total();
  for (const Bytes more : {Bytes{0}, MiB(16), GiB(1)}) {
    const Device device = test::own_device("cuda:0", {.limit = enough + more});
    train::Trainer trainer = make();
    const train::TrainingPlan plan = trainer.plan({.batch = 32}, device);
    const Device host = test::own_cpu({.limit = GiB(1)});
    for (const std::int64_t batch : {32, 28, 24, 20, 16, 12, 8, 4}) {
      const TensorType x = trainer.model().input_type(batch);
      const TensorType y = trainer.model().target_type(batch);
      const Tensor input = Tensor::zeros(x.shape, x.dtype, host);
      const Tensor target = Tensor::zeros(y.shape, y.dtype, host);
      for (int i = 0; i < 3; ++i) trainer.step(plan, input, target);
      trainer.wait();
      if (const auto used = device.process_used()) {
        EXPECT_LE(*used, device.budget().limit()) << more << ", " << batch;
      }
      EXPECT_LE(device.budget().used(), device.budget().limit());
    }
  }
}

TEST_F(TrainingOnGpu, ASessionClosesWhileItsStepsRun) {
  const Device device = open(GiB(4));
  const Tensor x = Tensor::zeros({512, 4096}, DType::f32, device);
  const Tensor y = Tensor::zeros({512}, DType::i64, device);
  for (int i = 0; i < 4; ++i) {
    Session session = device.session("short");
    train::Trainer trainer(nn::mlp({.in = 4096, .hidden = {4096, 4096, 4096}, .classes = 10}),
                           optim::adamw(), {.precision = DType::bf16});
    const auto plan = trainer.plan({.batch = 512}, session.device());
    for (int step = 0; step < 4 * i; ++step) trainer.step(plan, x, y);
    session.close();
    EXPECT_EQ(x.clone(test::own_cpu(), {}).data<float>()[0], 0) << "the device has failed";
  }
}

TEST_F(TrainingOnGpu, TwoLogicalDevicesTrainTwoModelsAtOnce) {
  const Device device = open(GiB(2));
  const auto parts = device.split({GiB(1), MiB(512)});
  const auto losses = [](const Device& on, std::uint64_t seed) {
    train::Trainer trainer(nn::mlp({.in = 256, .hidden = {512, 512}, .classes = 10}),
                           optim::adamw(), {.seed = seed});
    const auto plan = trainer.plan({.batch = 128}, on);
    const data::Dataset data = test::any_data(trainer.model(), 10, 128 * 50).batch(128);
    return trainer.fit(plan, data, {.steps = 50, .host = test::own_cpu()}).losses;
  };
  const auto alone0 = losses(parts[0], 1);
  const auto alone1 = losses(parts[1], 2);
  std::vector<float> both0;
  std::vector<float> both1;
  std::thread first([&] { both0 = losses(parts[0], 1); });
  std::thread second([&] { both1 = losses(parts[1], 2); });
  first.join();
  second.join();
  EXPECT_EQ(both0, alone0);
  EXPECT_EQ(both1, alone1);
  EXPECT_LE(parts[0].budget().peak(), GiB(1));
  EXPECT_LE(parts[1].budget().peak(), MiB(512));
}

TEST_F(TrainingOnGpu, ALimitIsLoweredWhileItRuns) {
  const auto losses = [&](bool lowered) {
    const Device device = open(GiB(2));
    train::Trainer trainer(nn::vit({.classes = 5,
                                    .channels = 3,
                                    .size = 64,
                                    .patch = 8,
                                    .features = 256,
                                    .layers = 6,
                                    .heads = 4,
                                    .dropout = 0}),
                           optim::adamw(), {.allow_split = false});
    const auto plan = trainer.plan({.batch = 64}, device);
    const data::Dataset data = test::any_data(trainer.model(), 5, 64 * 12).batch(64);
    train::FitOptions options{.steps = 12, .host = test::own_cpu()};
    train::Callback callback;
    callback.on_step = [&](train::Run& run) {
      if (lowered && run.step() == 5) {
        device.budget().set_limit(runtime() + plan.charged * 7 / 10);
      }
    };
    options.callbacks = {callback};
    const auto result = trainer.fit(plan, data, options);
    EXPECT_EQ(result.replans, lowered ? 1 : 0);
    return result.losses;
  };
  EXPECT_EQ(losses(true), losses(false));
}

TEST_F(TrainingOnGpu, ClosingASessionGivesItsMemoryBackWhileAnotherTrains) {
  using Clock = std::chrono::steady_clock;
  const Device device = open(GiB(6));
  // The one that goes on: steps of some milliseconds, whose times are looked at afterwards.
  std::atomic<bool> done{false};
  struct Step {
    Clock::time_point began;
    Clock::time_point ended;
    double seconds() const { return std::chrono::duration<double>(ended - began).count(); }
  };
  std::vector<Step> steps;
  std::atomic<int> made{0};
  std::thread other([&] {
    const Session session = device.session("other", GiB(2));
    train::Trainer trainer(nn::mlp({.in = 4096, .hidden = {4096, 4096, 4096}, .classes = 10}),
                           optim::sgd({.lr = 0.01}));
    const auto plan = trainer.plan({.batch = 2048}, session.device());
    const Tensor x = Tensor::zeros({2048, 4096}, DType::f32, session.device());
    const Tensor y = Tensor::zeros({2048}, DType::i64, session.device());
    while (!done) {
      Step step{.began = Clock::now()};
      trainer.step(plan, x, y);
      (void)trainer.loss();
      step.ended = Clock::now();
      steps.push_back(step);
      ++made;
    }
  });
  const auto let_it_step = [&] {
    for (const int before = made; made < before + 20;) std::this_thread::yield();
  };
  Clock::time_point closing;
  const auto train = [&] {
    Session session = device.session("short", GiB(3));
    train::Trainer trainer(nn::mlp({.in = 2048, .hidden = {4096, 4096}, .classes = 10}),
                           optim::adamw(), {.precision = DType::bf16});
    const auto plan = trainer.plan({.batch = 8192}, session.device());
    const Tensor x = Tensor::zeros({8192, 2048}, DType::f32, session.device());
    const Tensor y = Tensor::zeros({8192}, DType::i64, session.device());
    for (int i = 0; i < 5; ++i) trainer.step(plan, x, y);
    (void)trainer.loss();
    closing = Clock::now();
    trainer.release();
    session.close();
  };
  train();  // loads what libraries load when they are first used
  let_it_step();
  const Bytes before = device.info().free.value();
  train();
  const Clock::time_point closed = Clock::now();
  const Bytes after = device.info().free.value();
  let_it_step();
  done = true;
  other.join();
  EXPECT_LE(before > after ? before - after : after - before, MiB(4));
  ASSERT_GT(steps.size(), 20U);
  std::vector<double> sorted;
  for (const Step& step : steps) sorted.push_back(step.seconds());
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  for (const Step& step : steps) {
    if (step.ended < closing || step.began > closed) continue;
    EXPECT_LE(step.seconds(), 2 * median) << "a step while the other session closed";
  }
}

TEST_F(TrainingOnGpu, ClosingASessionGivesItsMemoryBackToTheDriver) {
  const Device device = open(GiB(4));
  const auto train = [&] {
    train::Trainer trainer(nn::resnet18(10, {.size = 64}), optim::sgd({.lr = 0.01}),
                           {.precision = DType::bf16});
    const auto plan = trainer.plan({.batch = 32}, device);
    const data::Dataset data = test::any_data(trainer.model(), 10, 32 * 3).batch(32);
    trainer.fit(plan, data, {.steps = 3, .host = test::own_cpu()});
  };
  train();  // loads what libraries load when they are first used
  const Bytes before = device.info().free.value();
  train();
  const Bytes after = device.info().free.value();
  EXPECT_LE(before > after ? before - after : after - before, MiB(4));
}

}  // namespace
}  // namespace plimsoll
