// Adagrad, Adadelta, Nadam, Lion, LAMB and Adafactor beside PyTorch's, or the papers'; schedules.
#include <plimsoll/optim/adaptive.h>

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/optim/weight_average.h>
#include <plimsoll/train/trainer.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"
#include "support/recorded.h"

namespace plimsoll::optim {
namespace {

using test::complaint;
using test::recorded_tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFile = "optimizers";

void expect_recorded(const std::string& name, Optimizer optimizer) {
  const Variable weight(recorded_tensor(kFile, "weight"), {.name = "weight"});
  const Variable bias(recorded_tensor(kFile, "bias"), {.name = "bias"});
  for (int step = 0; step < 6; ++step) {
    const auto gradient = [&](const char* of) {
      return recorded_tensor(kFile, fmt::format("gradient.{}.{}", step, of));
    };
    optimizer.apply(
        {.variables = {weight, bias}, .tensors = {gradient("weight"), gradient("bias")}});
    for (const Variable& variable : {weight, bias}) {
      const std::string key = fmt::format("{}.{}.{}", name, step, variable.name());
      test::expect_near(test::as_doubles(variable.tensor()),
                        test::as_doubles(recorded_tensor(kFile, key)), 2e-6, key);
    }
  }
}

TEST(AdaptiveOptimizers, StepsEqualPyTorchs) {
  expect_recorded("adagrad", adagrad({.lr = 0.1, .lr_decay = 0.05, .weight_decay = 0.1}));
  expect_recorded("adagrad_keras",
                  adagrad({.lr = 0.1, .initial_accumulator = 0.1, .epsilon = 1e-7}));
  expect_recorded("adadelta", adadelta({.lr = 0.5, .weight_decay = 0.1}));
  expect_recorded("nadam", nadam({.lr = 0.01, .weight_decay = 0.1}));
  expect_recorded("adafactor", adafactor({.lr = 0.05, .weight_decay = 0.1}));
  expect_recorded("lion", lion({.lr = 0.01, .weight_decay = 0.1}));
  expect_recorded("lamb", lamb({.lr = 0.02, .weight_decay = 0.1}));
}

std::vector<Optimizer> all() {
  return {adagrad(), adadelta(), nadam(), lion(), lamb(), adafactor()};
}

TEST(AdaptiveOptimizers, StateIsSizedBeforeItIsThere) {
  const nn::Dense net(2, {.in = 3});  // [2,3] and [2]
  std::vector<Bytes> bytes;
  for (Optimizer& optimizer : all()) {
    optimizer.attach(net);
    bytes.push_back(optimizer.state_bytes());
  }
  // Besides rate and step: one, two, two and two numbers for each parameter, one, two; of the
  // matrix two vectors.
  EXPECT_THAT(bytes,
              ElementsAre(8 + 32, 8 + 64, 8 + 64 + 8, 8 + 32, 8 + 64, 8 + 4 * (2 + 3) + 4 * 2));
}

TEST(AdaptiveOptimizers, AStepThatIsNotEnabledWritesNothing) {
  const Device& device = test::op_cases_device();
  const Tensor no = Tensor::zeros({}, DType::boolean, device);
  for (Optimizer& optimizer : all()) {
    const Variable weight(recorded_tensor(kFile, "weight"), {.name = "weight"});
    const Tensor gradient = recorded_tensor(kFile, "gradient.0.weight");
    optimizer.apply({.variables = {weight}, .tensors = {gradient}}, ops::logical_not(no));
    const auto snapshot = [&] {
      std::vector<double> values = test::as_doubles(weight.tensor());
      for (const State& state : optimizer.state()) {
        const auto some = test::as_doubles(state.tensor());
        values.insert(values.end(), some.begin(), some.end());
      }
      return values;
    };
    const auto before = snapshot();
    const Tensor broken = ops::scale(gradient, std::numeric_limits<double>::infinity());
    optimizer.apply({.variables = {weight}, .tensors = {broken}}, no);
    EXPECT_EQ(snapshot(), before) << optimizer.name();
    optimizer.apply({.variables = {weight}, .tensors = {gradient}});
    EXPECT_NE(snapshot(), before) << optimizer.name();
  }
}

TEST(AdaptiveOptimizers, AreTrainedInsideOfAPlan) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Tensor x = test::random_tensor({16, 3}, 1).to(device);
  const Tensor y = test::random_tensor({16, 2}, 2).to(device);
  for (const Optimizer& optimizer : all()) {
    train::Trainer trainer(
        nn::Dense(2), {.loss = "mean_squared_error", .optimizer = optimizer, .device = device});
    const auto result =
        trainer.fit(data::Dataset::from_tensor_slices({x, y}).batch(16), {.epochs = 20});
    EXPECT_EQ(result.planned_peak, result.measured_peak) << optimizer.name();
    EXPECT_LT(result.losses.back(), result.losses.front()) << optimizer.name();
  }
}

TEST(AdaptiveOptimizers, MistakesAreNamed) {
  EXPECT_THAT(complaint([] { nadam({.beta2 = 1}); }), HasSubstr("[nadam] beta2 is 1"));
  EXPECT_THAT(complaint([] { lamb({.beta1 = -0.1}); }), HasSubstr("[lamb] beta1 is -0.1"));
  EXPECT_THAT(complaint([] { adafactor({.clip = 0}); }), HasSubstr("[adafactor] clip is 0"));
  EXPECT_THAT(complaint([] { adafactor({.beta2_decay = 1}); }), HasSubstr("beta2_decay is 1"));
  EXPECT_THAT(complaint([] { adagrad({.epsilon = -1}); }), HasSubstr("[adagrad] epsilon is -1"));
  EXPECT_THAT(complaint([] { lion({.weight_decay = -1}); }), HasSubstr("[lion] weight_decay"));
  EXPECT_THAT(complaint([] { adadelta().set_rate_factor(-1); }), HasSubstr("rate factor of -1"));
}

TEST(WeightAverageTest, IsAMeanOfAllOrMovesTowardsTheLast) {
  const Device& device = test::op_cases_device();
  const Variable w(Tensor::from_values({1.0F, 2.0F}, {2}, device), {.name = "w"});
  WeightAverage mean(std::vector<Variable>{w});
  WeightAverage moving(std::vector<Variable>{w}, {.decay = 0.75});
  for (const float value : {4.0F, 8.0F}) {
    w.assign(Tensor::from_values({value, -value}, {2}, device));
    mean.update();
    moving.update();
  }
  EXPECT_THAT(mean.averages()[0].to_vector<float>(), ElementsAre(6, -6));
  EXPECT_THAT(moving.averages()[0].to_vector<float>(),
              ElementsAre((1 * 0.75F + 1) * 0.75F + 2, (2 * 0.75F - 1) * 0.75F - 2));
  mean.swap();
  EXPECT_THAT(w.tensor().to_vector<float>(), ElementsAre(6, -6));
  mean.swap();
  EXPECT_THAT(w.tensor().to_vector<float>(), ElementsAre(8, -8));
  EXPECT_THAT(complaint([&] { WeightAverage(std::vector<Variable>{}); }),
              HasSubstr("no variables"));
  EXPECT_THAT(complaint([&] { WeightAverage(nn::Dense(2, {.in = 2})); }),
              HasSubstr("weight has no data yet"));
  EXPECT_THAT(complaint([&] { WeightAverage(std::vector<Variable>{w}, {.decay = 1}); }),
              HasSubstr("decay is 1"));
}

TEST(MoreSchedules, EqualPyTorchs) {
  const std::map<std::string, Schedule> schedules = {
      {"warm_restarts", Schedule::warm_restarts(0.5, 4, 2, 0.1)},
      {"polynomial", Schedule::polynomial(0.5, 10, 0, 2)},
      {"exponential", Schedule::exponential(0.5, 0.9)},
      {"one_cycle", Schedule::one_cycle(0.5, 20)}};
  for (const auto& [name, schedule] : schedules) {
    const auto rates = test::as_doubles(recorded_tensor(kFile, "rates." + name));
    for (std::size_t step = 0; step < rates.size(); ++step) {
      EXPECT_NEAR(schedule.at(static_cast<std::int64_t>(step)), rates[step], 1e-6)
          << name << ", step " << step;
    }
  }
}

TEST(MoreSchedules, PiecewiseChangesAtItsBoundaries) {
  const Schedule schedule = Schedule::piecewise({10, 20}, {1, 0.5, 0.1});
  EXPECT_EQ(schedule.at(9), 1);
  EXPECT_EQ(schedule.at(10), 0.5);
  EXPECT_EQ(schedule.at(19), 0.5);
  EXPECT_EQ(schedule.at(1000), 0.1);
  EXPECT_EQ(schedule.to_string(), "1, 0.5 from step 10, 0.1 from step 20");
  EXPECT_EQ(Schedule::one_cycle(1, 1).at(0), 1 / 25.0 / 1e4);
  EXPECT_EQ(Schedule::warm_restarts(1, 3).at(3), 1);
  EXPECT_THAT(complaint([] { Schedule::piecewise({10}, {1}); }), HasSubstr("1 rates for 1"));
  EXPECT_THAT(complaint([] {
                Schedule::piecewise({10, 10}, {1, 1, 1});
              }),
              HasSubstr("boundary 1 is step 10"));
  EXPECT_THAT(complaint([] { Schedule::one_cycle(1, 10, 1); }), HasSubstr("a rise over 1"));
  EXPECT_THAT(complaint([] { Schedule::warm_restarts(1, 10, 0.5); }), HasSubstr("a factor of 0.5"));
  EXPECT_THAT(complaint([] { Schedule::exponential(1, 0); }), HasSubstr("the factor is 0"));
}

}  // namespace
}  // namespace plimsoll::optim
