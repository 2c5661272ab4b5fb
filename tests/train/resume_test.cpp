#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/reduce_on_plateau.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using test::toy_data;
using ::testing::HasSubstr;

struct Crash {};

class Resume : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  train::FitResult run(const std::string& name, train::FitOptions options,
                       train::TrainerOptions how = {}) {
    const Device device = test::own_cpu({.limit = MiB(4)});
    how.precision = f16;
    how.moving_average = 0.9;
    train::Trainer trainer(nn::vit({.classes = 4,
                                    .channels = 1,
                                    .size = 4,
                                    .patch = 2,
                                    .features = 16,
                                    .layers = 2,
                                    .heads = 2,
                                    .dropout = 0.2}),
                           optim::adam({.lr = optim::Schedule::cosine(0.01, 30)}), how);
    const auto plan = trainer.plan({.batch = 8, .validation_batch = 8}, device);
    const auto picture = [](const data::Element& e) {
      return data::Element{e[0].tensor().reshape({1, 4, 4}), e[1]};
    };
    const auto shuffled = toy_data(60).map(picture).shuffle({.elements = 20}).batch(8);
    options.epochs = 4;
    options.checkpoints = (folder_ / name).string();
    options.checkpoint_steps = 3;
    return trainer.fit(plan, shuffled, toy_data(20).map(picture).batch(8), options);
  }

  /// A file of the last checkpoint.
  static std::string weights(const train::FitResult& result, const char* file) {
    std::ifstream in(fs::path(result.checkpoint) / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("resume-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Resume, GoesOnToTheBitAfterAnEndAtAnyStep) {
  const train::FitResult whole = run("whole", {});
  ASSERT_EQ(whole.steps, 32);
  ASSERT_FALSE(weights(whole, "model.safetensors").empty());
  for (const std::int64_t at : {1, 3, 8, 13, 24, 31}) {
    const std::string name = fmt::format("cut{}", at);
    train::FitOptions cut;
    cut.callbacks = {{.on_step = [at](train::Run& run) {
      if (run.step() == at) throw Crash();
    }}};
    EXPECT_THROW(run(name, cut), Crash);
    const train::FitResult rest = run(name, {.resume = true});
    EXPECT_EQ(whole.losses, rest.losses) << at;
    EXPECT_EQ(whole.history, rest.history) << at;
    EXPECT_EQ(weights(whole, "model.safetensors"), weights(rest, "model.safetensors")) << at;
    EXPECT_EQ(weights(whole, "average.safetensors"), weights(rest, "average.safetensors")) << at;
  }
}

TEST_F(Resume, WhatPlateausHaveSeenGoesOnToTheBit) {
  // Of two: one by the loss, which falls, and one by a metric that "improves" by too little.
  const auto plateaus = [] {
    return std::vector<train::Callback>{
        train::reduce_on_plateau(
            {.metric = "loss", .factor = 0.5, .patience = 1, .min_delta = 10, .cooldown = 1}),
        train::reduce_on_plateau({.metric = "loss", .factor = 0.9, .patience = 0, .min_delta = 10}),
        train::reduce_on_plateau(
            {.metric = "validation_loss", .factor = 0.7, .patience = 2, .min_delta = 10})};
  };
  const train::FitResult whole = run("whole", {.callbacks = plateaus()});
  const train::FitResult without = run("without", {});
  ASSERT_NE(whole.losses.back(), without.losses.back()) << "the rate was lowered";
  for (const std::int64_t at : {7, 8, 16, 17, 24, 31}) {
    const std::string name = std::to_string(at);
    run(name, {.steps = at, .callbacks = plateaus()});
    const train::FitResult rest = run(name, {.callbacks = plateaus(), .resume = true});
    EXPECT_EQ(rest.losses, whole.losses) << at;
    EXPECT_EQ(rest.history, whole.history) << at;
    EXPECT_TRUE(weights(rest, "model.safetensors") == weights(whole, "model.safetensors")) << at;
  }
}

TEST_F(Resume, AStopWritesACheckpointOfThatStep) {
  const train::FitResult whole = run("whole", {});
  std::atomic<bool> stop{false};
  train::FitOptions options;
  options.stop = &stop;
  options.callbacks = {{.on_step = [&](train::Run& run) { stop = run.step() == 11; }}};
  const train::FitResult first = run("cut", options);
  EXPECT_EQ(first.steps, 11);
  EXPECT_EQ(first.stopped, "interrupted");
  EXPECT_THAT(first.checkpoint, HasSubstr("step-00000011"));
  EXPECT_EQ(run("cut", {.resume = true}).losses, whole.losses);
}

TEST_F(Resume, RefusesARunThatIsNotTheSame) {
  run("whole", {});
  try {
    run("whole", {.resume = true}, {.seed = 3});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("whose seed is 0; here it is 3"));
  }
  try {
    run("whole", {});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("resume it, or give another folder"));
  }
}

TEST_F(Resume, RemainsOfAWriteThatWasKilledDoNoHarm) {
  const train::FitResult whole = run("whole", {});
  train::FitOptions cut;
  cut.callbacks = {{.on_step = [](train::Run& run) {
    if (run.step() == 10) throw Crash();
  }}};
  EXPECT_THROW(run("cut", cut), Crash);
  fs::create_directories(folder_ / "cut" / ".step-00000012-epoch-0001-99");
  fs::create_directories(folder_ / "cut" / "step-00000012-epoch-0001");  // renamed, not yet latest
  std::ofstream(folder_ / "cut" / "step-00000012-epoch-0001" / "state.json") << "{";
  const train::FitResult rest = run("cut", {.resume = true});
  EXPECT_EQ(rest.losses, whole.losses);
  EXPECT_FALSE(fs::exists(folder_ / "cut" / ".step-00000012-epoch-0001-99"));
}

TEST_F(Resume, ADamagedModelLeavesTheMovingAverageAsItWas) {
  const Device device = test::own_cpu({.limit = MiB(4)});
  const auto make = [] {
    return train::Trainer(nn::mlp({.in = 16, .hidden = {16}, .classes = 4}),
                          optim::sgd({.lr = 0.1}), {.moving_average = 0.5});
  };
  const auto data = toy_data(64).batch(8);
  train::Trainer first = make();
  const train::FitOptions options{.epochs = 1, .checkpoints = (folder_ / "run").string()};
  const auto written = first.fit(first.plan({.batch = 8}, device), data, options).checkpoint;
  first.release();
  train::Trainer second = make();
  const auto plan = second.plan({.batch = 8}, device);
  Tensor x = Tensor::zeros({1, 16}, DType::f32, device);
  for (int i = 0; i < 16; ++i) x.mutable_data<float>()[i] = 1;
  const auto before = second.predict(plan, x).to_vector<float>();
  const fs::path model = fs::path(written) / "model.safetensors";
  fs::resize_file(model, fs::file_size(model) / 2);
  train::FitOptions again = options;
  again.resume = true;
  EXPECT_THROW(second.fit(plan, data, again), DataError);
  EXPECT_EQ(second.predict(plan, x).to_vector<float>(), before);
}

TEST_F(Resume, DamagedFilesAreNamed) {
  const train::FitResult whole = run("whole", {});
  for (const char* file : {"state.json", "losses.f32", "model.safetensors", "train.position"}) {
    const fs::path path = fs::path(whole.checkpoint) / file;
    const std::string intact = weights(whole, file);
    fs::resize_file(path, intact.size() / 2);
    try {
      run("whole", {.resume = true});
      ADD_FAILURE() << file;
    } catch (const Error& error) {
      if (std::string(file) != "train.position") {
        EXPECT_THAT(error.what(), HasSubstr(file)) << error.what();
      }
    }
    std::ofstream(path, std::ios::binary) << intact;
  }
}

TEST_F(Resume, AFlippedBitIsNamedAndAnotherCheckpointToo) {
  const train::FitResult whole = run("whole", {});
  for (const char* file : {"model.safetensors", "average.safetensors", "losses.f32"}) {
    const fs::path path = fs::path(whole.checkpoint) / file;
    const std::string intact = weights(whole, file);
    std::string damaged = intact;
    damaged[damaged.size() - 2] = static_cast<char>(damaged[damaged.size() - 2] ^ 0x10);
    std::ofstream(path, std::ios::binary) << damaged;
    try {
      run("whole", {.resume = true});
      ADD_FAILURE() << file;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(file) + ": is damaged"));
      EXPECT_THAT(error.what(), HasSubstr("latest: step-"));
    }
    std::ofstream(path, std::ios::binary) << intact;
  }
}

TEST_F(Resume, WithoutLatestTheNewestIsTaken) {
  const train::FitResult whole = run("whole", {});
  train::FitOptions cut;
  cut.callbacks = {{.on_step = [](train::Run& run) {
    if (run.step() == 10) throw Crash();
  }}};
  EXPECT_THROW(run("cut", cut), Crash);
  fs::remove(folder_ / "cut" / "latest");
  EXPECT_THROW(run("cut", {}), InvalidArgument) << "a folder with checkpoints is some run's";
  std::int64_t first = 0;
  train::FitOptions again{.resume = true};
  again.callbacks = {{.on_step = [&](train::Run& run) {
    if (first == 0) first = run.step();
  }}};
  EXPECT_EQ(run("cut", again).losses, whole.losses);
  EXPECT_EQ(first, 10);
}

}  // namespace
}  // namespace plimsoll
