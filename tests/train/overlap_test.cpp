// A step's numbers read while the next one runs: the same numbers for the same steps, whatever
// happens in between. The CPU's steps are over when they are submitted, so that all but the
// overlapping itself is proved here.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <plimsoll/nn/models.h>
#include <plimsoll/train/trainer.h>

#include "device/device_state.h"
#include "support/lazy_backend.h"
#include "support/own_device.h"
#include "support/toy_training.h"
#include "train/late_numbers.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using test::toy_data;
using ::testing::Contains;
using ::testing::HasSubstr;

struct OverlapCrash {};

class Overlap : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  struct Seen {
    train::FitResult result;
    std::vector<std::string> steps;   ///< what on_step saw
    std::vector<std::string> logged;  ///< lines of the run log, without times and bytes
    std::string thrown;
  };

  Seen run(bool overlap, train::FitOptions options, const data::Dataset& data,
           std::int64_t accumulate = 1, bool validates = true,
           const std::function<void(train::Run&)>& on_step = nullptr) {
    Seen seen;
    const Device device = test::own_cpu({.limit = MiB(32)});
    train::Trainer trainer(nn::mlp({.in = 16, .hidden = {32}, .classes = 4}),
                           optim::adam({.lr = optim::Schedule::cosine(0.01, 30)}),
                           {.accumulate = accumulate});
    const auto plan = trainer.plan({.batch = 8, .validation_batch = 8}, device);
    const std::string path = (folder_ / fmt::format("log{}", runs_++)).string();
    {
      RunLog log(path);
      options.log = &log;
      options.overlap = overlap;
      options.callbacks.push_back({.on_step =
                                       [&](train::Run& run) {
                                         seen.steps.push_back(
                                             fmt::format("{} {} {} {} {}", run.step(), run.epoch(),
                                                         run.loss(), run.rate(), run.elements()));
                                         if (on_step) on_step(run);
                                       },
                                   .numbers_only = true});
      std::optional<data::Dataset> validation;
      if (validates) validation = toy_data(20).batch(8);
      try {
        seen.result = trainer.fit(plan, data, validation, options);
      } catch (const Error& error) {
        seen.thrown = error.what();
      } catch (const OverlapCrash&) {
        seen.thrown = "crash";
      }
    }
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      auto json = nlohmann::json::parse(line);
      std::string text = json["event"];
      if (text == "end" || text == "begin") continue;
      // What is looked at by the clock.
      if (text == "holder" || text == "memory" || text == "peak" || text == "pipeline") continue;
      for (const char* key : {"step", "loss", "epoch", "name", "value", "why"}) {
        if (json.contains(key)) text += fmt::format(" {}={}", key, json[key].dump());
      }
      seen.logged.push_back(text);
    }
    return seen;
  }

  /// Both ways, which must not differ in anything that was seen.
  Seen expect_same(const train::FitOptions& options, const data::Dataset& data,
                   std::int64_t accumulate = 1, bool validates = true) {
    Seen plain = run(false, options, data, accumulate, validates);
    train::FitOptions late = options;
    if (!late.checkpoints.empty()) late.checkpoints += "-late";
    const Seen seen = run(true, late, data, accumulate, validates);
    EXPECT_EQ(plain.result.losses, seen.result.losses);
    EXPECT_EQ(plain.result.history, seen.result.history);
    EXPECT_EQ(plain.result.steps, seen.result.steps);
    EXPECT_EQ(plain.result.epochs, seen.result.epochs);
    EXPECT_EQ(plain.result.stopped, seen.result.stopped);
    EXPECT_EQ(plain.steps, seen.steps);
    EXPECT_EQ(plain.logged, seen.logged);
    EXPECT_EQ(plain.thrown, seen.thrown);
    return plain;
  }

  static std::string file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  int runs_ = 0;
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     fmt::format("overlap-{}-{}", ::getpid(),
                                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Overlap, EpochsWithValidationAndARemainder) {
  const Seen seen = expect_same({.epochs = 3}, toy_data(60).batch(8));
  EXPECT_EQ(seen.result.steps, 24);
  EXPECT_EQ(seen.steps.size(), 24U);
  expect_same({.epochs = 2}, toy_data(64).batch(8), 1, false);
  expect_same({.epochs = 1}, toy_data(5).batch(8));
}

TEST_F(Overlap, SplitBatches) { expect_same({.epochs = 2}, toy_data(64).batch(8), 4); }

TEST_F(Overlap, AStreamOfUnknownLength) {
  const auto odd = toy_data(90).filter(
      [](const data::Element& element) { return element[1].as<std::int64_t>() != 1; });
  const Seen seen = expect_same({.epochs = 3}, odd.batch(8));
  EXPECT_EQ(seen.result.epochs, 3);
}

TEST_F(Overlap, EndsWithinAnEpochAndAtItsEnd) {
  for (const std::int64_t steps : {1, 5, 8, 9, 16}) {
    const Seen seen = expect_same({.steps = steps}, toy_data(60).batch(8));
    EXPECT_EQ(seen.result.steps, steps);
  }
}

TEST_F(Overlap, CheckpointsAreThoseOfTheirStep) {
  for (const std::int64_t every : {3, 8}) {
    train::FitOptions options{.epochs = 2};
    options.checkpoints = (folder_ / fmt::format("every{}", every)).string();
    options.checkpoint_steps = every;
    options.checkpoints_kept = 100;
    expect_same(options, toy_data(60).batch(8));
    int compared = 0;
    for (const auto& entry : fs::directory_iterator(options.checkpoints)) {
      const fs::path weights = entry.path() / "model.safetensors";
      if (!fs::exists(weights) || fs::is_symlink(entry.path())) continue;
      const fs::path late = fs::path(options.checkpoints + "-late") / entry.path().filename();
      EXPECT_EQ(file(weights), file(late / "model.safetensors")) << entry.path();
      ++compared;
    }
    EXPECT_GE(compared, 2);
  }
}

TEST_F(Overlap, AnErrorOfTheDataLosesNoStep) {
  data::MapFunction fails;
  fails.name = "fails";
  fails.run = [](const data::Element& element, data::MapContext&) -> data::Element {
    if (element[0].as<std::int64_t>() == 37) throw DataError("[test] element 37");
    return {element[1], element[2]};
  };
  fails.output = toy_data(60).element_spec();
  const Seen seen = expect_same({.epochs = 2}, toy_data(60).enumerate().map(fails).batch(8));
  EXPECT_THAT(seen.thrown, HasSubstr("element 37"));
  EXPECT_EQ(seen.steps.size(), 4U);
}

TEST_F(Overlap, ABatchThatIsNoneLosesNoStep) {
  const auto wrong = toy_data(8, 15).batch(8);
  const Seen seen = expect_same({.epochs = 2}, toy_data(24).batch(8).concatenate(wrong));
  EXPECT_THAT(seen.thrown, HasSubstr("the model wants"));
  EXPECT_EQ(seen.steps.size(), 3U);
}

TEST_F(Overlap, MeasuringComesBetweenSteps) {
  train::FitOptions options{.epochs = 2};
  options.measure_after = 2;
  const Seen plain = run(false, options, toy_data(60).batch(8));
  const Seen late = run(true, options, toy_data(60).batch(8));
  EXPECT_EQ(plain.result.losses, late.result.losses);
  EXPECT_GT(late.result.corrected_step_seconds, 0);
  EXPECT_GT(late.result.measured_step_seconds, 0);
}

TEST_F(Overlap, AStopOfACallbackCountsTheStepThatRuns) {
  const auto stops = [](train::Run& run) {
    if (run.step() == 5) run.stop("enough");
  };
  const Seen plain = run(false, {.epochs = 2}, toy_data(60).batch(8), 1, true, stops);
  const Seen late = run(true, {.epochs = 2}, toy_data(60).batch(8), 1, true, stops);
  EXPECT_EQ(plain.result.steps, 5);
  EXPECT_EQ(late.result.steps, 6);
  EXPECT_EQ(late.result.losses.size(), 6U);
  EXPECT_EQ(late.steps.size(), 6U);
  EXPECT_TRUE(std::equal(plain.steps.begin(), plain.steps.end(), late.steps.begin()));
}

TEST_F(Overlap, AnExceptionOfACallbackLeavesTheStepThatRunsInTheLog) {
  const auto throws = [](train::Run& run) {
    if (run.step() == 5) throw OverlapCrash();
  };
  const Seen late = run(true, {.epochs = 2}, toy_data(60).batch(8), 1, false, throws);
  EXPECT_EQ(late.thrown, "crash");
  EXPECT_EQ(late.steps.size(), 5U);
  ASSERT_FALSE(late.logged.empty());
  EXPECT_THAT(late.logged, Contains(HasSubstr("step step=6 ")));
  EXPECT_THAT(late.logged.back(), HasSubstr("failed step=6"));
}

TEST_F(Overlap, AnInterruptEndsAfterTheStepsThatBegan) {
  std::atomic<bool> stop{false};
  train::FitOptions options{.epochs = 4};
  options.stop = &stop;
  options.checkpoints = (folder_ / "stopped").string();
  const Seen late = run(true, options, toy_data(60).batch(8), 1, true,
                        [&](train::Run& run) { stop = stop || run.step() == 11; });
  EXPECT_EQ(late.result.stopped, "interrupted");
  EXPECT_EQ(late.result.steps, 12);
  EXPECT_THAT(late.result.checkpoint, HasSubstr("step-00000012"));
  train::FitOptions whole{.epochs = 4};
  const Seen all = run(false, whole, toy_data(60).batch(8));
  options.stop = nullptr;
  options.resume = true;
  EXPECT_EQ(run(true, options, toy_data(60).batch(8)).result.losses, all.result.losses);
}

TEST_F(Overlap, NumbersOfAStepThatFailedAreNotMadeUp) {
  struct Broken final : Fence {
    bool done() override { throw DeviceError("[test] it failed"); }
    void wait() override { throw DeviceError("[test] it failed"); }
  };
  struct Failing final : LazyBackend {
    using LazyBackend::LazyBackend;
    std::shared_ptr<Fence> fence(StreamId stream) override {
      return broken ? std::make_shared<Broken>() : LazyBackend::fence(stream);
    }
    bool broken = false;
  };
  const auto backend = std::make_shared<Failing>(MiB(64));
  const Device device = Device::State::open(backend, {.limit = MiB(1)});
  const Device host = test::own_cpu({.limit = MiB(8)});
  const StreamId stream = device.make_stream();
  train::NumberSheets sheets(device, host.budget());
  const float loss = 0.25F;
  {
    train::LateNumbers late = sheets.take(1);
    device.copy(late.at(0), &loss, sizeof(loss), stream);
    late.submitted(device, stream);
    EXPECT_EQ(late.wait()[0], 0.25F);
  }
  backend->broken = true;
  train::LateNumbers written = sheets.take(1);
  train::LateNumbers not_written = sheets.take(2);
  device.copy(written.at(0), &loss, sizeof(loss), stream);
  device.copy(not_written.at(1), &loss, sizeof(loss), stream);
  device.synchronize(stream);
  written.submitted(device, stream);
  not_written.submitted(device, stream);
  EXPECT_EQ(written.wait()[0], 0.25F) << "a later step failed";
  EXPECT_THROW(not_written.wait(), DeviceError);
}

}  // namespace
}  // namespace plimsoll
