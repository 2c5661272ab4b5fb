#pragma once

// A run from its first step to its last on one device, broken off and resumed, there and on the
// CPU; validated, evaluated and asked for predictions. One suite for every kind of device:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, EndToEnd, ::testing::ValuesIn(my_cases), end_to_end_name);

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/train/checkpoint.h>
#include <plimsoll/train/trainer.h>

#include "support/missing_device.h"
#include "support/own_device.h"
#include "support/random_training.h"

namespace plimsoll::test {

struct EndToEndCase {
  std::string name;
  std::string device;
  std::string model;  ///< "vit", with dropout, AdamW and an average; "unet", with batch statistics
  DType precision = DType::f32;
  double tolerance = 0;  ///< of losses, device against CPU
  std::int64_t scale = 1;

  friend void PrintTo(const EndToEndCase& c, std::ostream* out) { *out << c.name; }
};

inline std::string end_to_end_name(const ::testing::TestParamInfo<EndToEndCase>& info) {
  return info.param.name;
}

class EndToEnd : public ::testing::TestWithParam<EndToEndCase> {
 protected:
  static constexpr std::int64_t kBatch = 8;
  static constexpr std::int64_t kClasses = 4;
  static constexpr std::int64_t kSteps = 12;  ///< in two epochs
  struct Crash {};

  void SetUp() override {
    if (const auto why = why_missing(GetParam().device); !why.empty()) GTEST_SKIP() << why;
    device_.emplace(test::own_device(GetParam().device, {.limit = GiB(2)}));
    cpu_.emplace(test::own_cpu({.limit = GiB(1)}));
    input_.emplace(test::own_cpu({.limit = MiB(256)}));
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("end-to-end-{}-{}", ::getpid(), GetParam().name);
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  static nn::Model model() {
    const std::int64_t scale = GetParam().scale;
    if (GetParam().model == "unet") {
      return nn::unet({.classes = kClasses, .channels = 1, .size = 16 * scale, .width = 4 * scale});
    }
    return nn::vit({.classes = kClasses,
                    .channels = 1,
                    .size = 16,
                    .patch = 4,
                    .features = 32 * scale,
                    .layers = 2,
                    .heads = 2,
                    .dropout = 0.1});
  }

  static train::Trainer trainer() {
    const bool vit = GetParam().model == "vit";
    return {model(),
            vit ? optim::adamw({.lr = optim::Schedule::cosine(1e-3, kSteps)})
                : optim::sgd({.lr = 0.01, .momentum = 0.9}),
            {.precision = GetParam().precision,
             .seed = 3,
             .moving_average = vit ? 0.9 : 0,
             .allow_split = false}};
  }

  static train::PlanRequest request() { return {.batch = kBatch, .validation_batch = kBatch}; }
  static data::Dataset train_data() {
    return any_data(model(), kClasses, kSteps / 2 * kBatch).shuffle({.elements = 20}).batch(kBatch);
  }
  /// Its last batch is not full.
  static data::Dataset validation_data() {
    return any_data(model(), kClasses, 2 * kBatch + 3).batch(kBatch);
  }

  train::FitOptions options(const std::string& name = {}) const {
    train::FitOptions with{.epochs = 2};
    with.host = *input_;
    if (!name.empty()) {
      with.checkpoints = (folder_ / name).string();
      with.checkpoint_steps = 3;
    }
    return with;
  }

  /// A run on `device`, as far as it goes.
  train::FitResult run(const Device& device, const train::FitOptions& with) const {
    train::Trainer t = trainer();
    const auto plan = t.plan(request(), device);
    auto result = t.fit(plan, train_data(), validation_data(), with);
    EXPECT_EQ(result.planned_peak, result.measured_peak);
    EXPECT_LE(result.charged_peak, device.budget().limit());
    return result;
  }

  /// One that is broken off after step `at`; its last checkpoint is that of step 6.
  void run_broken_off(const Device& device, const std::string& name, std::int64_t at) const {
    train::FitOptions with = options(name);
    with.callbacks = {{.on_step = [at](train::Run& run) {
      if (run.step() == at) throw Crash();
    }}};
    EXPECT_THROW(run(device, with), Crash);
  }

  train::FitResult resume(const Device& device, const std::string& name) const {
    train::FitOptions with = options(name);
    with.resume = true;
    return run(device, with);
  }

  static std::string file_of(const train::FitResult& result, const char* file) {
    std::ifstream in(std::filesystem::path(result.checkpoint) / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::vector<float> numbers(const Tensor& tensor) const {
    return ops::cast(tensor.to(*cpu_), DType::f32).to_vector<float>();
  }

  void expect_close(double actual, double expected, const std::string& what) const {
    EXPECT_NEAR(actual, expected, GetParam().tolerance * std::max(1.0, std::abs(expected))) << what;
  }
  void expect_close(const train::FitResult& actual, const train::FitResult& expected) const {
    ASSERT_EQ(actual.losses.size(), expected.losses.size());
    for (std::size_t i = 0; i < actual.losses.size(); ++i) {
      expect_close(actual.losses[i], expected.losses[i], fmt::format("step {}", i));
    }
    ASSERT_EQ(actual.history.size(), expected.history.size());
    for (std::size_t i = 0; i < actual.history.size(); ++i) {
      for (const char* name : {"loss", "validation_loss"}) {
        expect_close(actual.history[i].at(name), expected.history[i].at(name), name);
      }
    }
  }

  std::optional<Device> device_;
  std::optional<Device> cpu_;
  std::optional<Device> input_;
  std::filesystem::path folder_;
};

TEST_P(EndToEnd, ARunThatWasBrokenOffGoesOnToTheBitAndOnTheCpuWithinRounding) {
  const train::FitResult whole = run(*device_, options("whole"));
  ASSERT_EQ(whole.steps, kSteps);
  for (const float loss : whole.losses) ASSERT_TRUE(std::isfinite(loss));
  run_broken_off(*device_, "cut", 8);
  std::filesystem::copy(folder_ / "cut", folder_ / "elsewhere",
                        std::filesystem::copy_options::recursive);

  const train::FitResult rest = resume(*device_, "cut");
  EXPECT_EQ(rest.losses, whole.losses);
  EXPECT_EQ(rest.history, whole.history);
  EXPECT_FALSE(file_of(whole, "model.safetensors").empty());
  EXPECT_TRUE(file_of(rest, "model.safetensors") == file_of(whole, "model.safetensors"));
  EXPECT_TRUE(file_of(rest, "average.safetensors") == file_of(whole, "average.safetensors"));

  const train::FitResult elsewhere = resume(*cpu_, "elsewhere");
  expect_close(elsewhere, whole);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(elsewhere.losses[i], whole.losses[i]) << "a step of before the checkpoint";
  }

  run_broken_off(*cpu_, "begun on the CPU", 8);
  expect_close(resume(*device_, "begun on the CPU"), whole);
}

TEST_P(EndToEnd, ValidationIsWhatEvaluateSaysAndChangesNoStep) {
  train::Trainer t = trainer();
  const auto plan = t.plan(request(), *device_);
  const auto result = t.fit(plan, train_data(), validation_data(), options());
  EXPECT_EQ(result.measured_peak, plan.planned_peak()) << "validation has no memory of its own";
  const train::Metrics metrics = t.evaluate(plan, validation_data(), {}, *input_);
  ASSERT_TRUE(metrics.contains("loss"));
  for (const auto& [name, value] : metrics) {
    EXPECT_EQ(value, result.history.back().at("validation_" + name)) << name;
  }
  t.release();

  train::Trainer alone = trainer();
  const auto unvalidated = alone.plan({.batch = kBatch}, *device_);
  EXPECT_EQ(alone.fit(unvalidated, train_data(), options()).losses, result.losses);
}

TEST_P(EndToEnd, EvaluatesAndPredictsAsTheCpuDoesWithTheSameWeights) {
  std::filesystem::create_directories(folder_);
  const std::string path = (folder_ / "weights.safetensors").string();
  train::Trainer here = trainer();
  const auto plan_here = here.plan(request(), *device_);
  here.fit(plan_here, train_data(), options());
  train::save_checkpoint(path, {.module = &here.model()});
  // The average is not in the file: both evaluate the weights themselves.
  train::Trainer there(model(), optim::sgd(), {.precision = GetParam().precision});
  const auto plan_there = there.plan(request(), *cpu_);
  there.materialize(plan_there);
  train::load_checkpoint(path, {.module = &there.model()}, *cpu_);
  train::Trainer again(model(), optim::sgd(), {.precision = GetParam().precision});
  here.release();
  const auto plan_again = again.plan(request(), *device_);
  again.materialize(plan_again);
  train::load_checkpoint(path, {.module = &again.model()}, *device_);

  const train::Metrics expected = there.evaluate(plan_there, validation_data(), {}, *input_);
  const train::Metrics actual = again.evaluate(plan_again, validation_data(), {}, *input_);
  expect_close(actual.at("loss"), expected.at("loss"), "loss");
  if (expected.contains("accuracy")) {
    EXPECT_NEAR(actual.at("accuracy"), expected.at("accuracy"), 0.1);
  }

  data::Pipeline pipeline(validation_data(), *input_);
  const Tensor input = pipeline.next()->operator[](0).tensor();
  const std::vector<float> wanted = numbers(there.predict(plan_there, input.to(*cpu_)));
  const Tensor given = again.predict(plan_again, input.to(*device_));
  EXPECT_EQ(&given.device().backend(), &device_->backend());
  const std::vector<float> got = numbers(given);
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_EQ(got.size() % static_cast<std::size_t>(kBatch * kClasses), 0U);
  double largest = 0;
  for (const float value : wanted)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], GetParam().tolerance * largest) << "logit " << i;
  }
  // Asked twice, and of a batch that the host has, the answer has the same bits.
  EXPECT_EQ(numbers(again.predict(plan_again, input)), got);
}

}  // namespace plimsoll::test
