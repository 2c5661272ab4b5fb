// What fit() leaves in its run log: docs/run-log.md.

#include "train/fit_log.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/memory/out_of_memory.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/report/run.h>
#include <plimsoll/train/trainer.h>

#include "support/own_device.h"
#include "support/toy_training.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A file that goes with the test.
class LogFile {
 public:
  LogFile() : path_(fs::temp_directory_path() / fmt::format("plimsoll_fit_log_{}", ::getpid())) {
    fs::remove(path_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { fs::remove(path_); }

  std::string path() const { return path_.string(); }
  std::vector<json> lines() const {
    std::vector<json> all;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
    return all;
  }

 private:
  fs::path path_;
};

Trainer make_trainer() {
  return Trainer(nn::mlp({.in = 16, .hidden = {32}, .classes = 4}), optim::sgd({.lr = 0.1}));
}

FitResult fit(const LogFile& file, const Device& device, FitOptions options) {
  Trainer trainer = make_trainer();
  const TrainingPlan plan = trainer.plan({.batch = 8, .validation_batch = 8}, device);
  RunLog log(file.path());
  options.log = &log;
  return trainer.fit(plan, test::toy_data(64).batch(8), test::toy_data(16).batch(8), options);
}

std::size_t count(const std::vector<json>& lines, const std::string& event) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const json& line) { return line["event"] == event; }));
}

TEST(FitLog, HasTheRunFromItsPlanToItsEnd) {
  const LogFile file;
  const FitResult result = fit(file, test::own_cpu({.limit = MiB(16)}), {.epochs = 2});
  const std::vector<json> lines = file.lines();
  EXPECT_EQ(lines[0]["event"], "run");
  EXPECT_EQ(lines[0]["format"], RunLog::kFormat);
  EXPECT_EQ(lines[1]["event"], "begin");
  EXPECT_EQ(lines[1]["settings"]["optimizer"], "sgd");
  EXPECT_EQ(count(lines, "plan"), 1U);
  EXPECT_EQ(count(lines, "step"), 16U);
  EXPECT_EQ(count(lines, "epoch"), 2U);
  EXPECT_EQ(count(lines, "validation"), 2U);
  EXPECT_GE(count(lines, "memory"), 2U);
  EXPECT_GE(count(lines, "peak"), 1U);
  EXPECT_GE(count(lines, "pipeline"), 2U);
  EXPECT_EQ(lines.back()["event"], "end");

  const report::Run run = report::read_run(file.path());
  EXPECT_EQ(run.state, report::RunState::finished);
  EXPECT_EQ(run.problem_count, 0);
  ASSERT_EQ(run.steps.size(), result.losses.size());
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    EXPECT_EQ(static_cast<float>(run.steps[i].loss), result.losses[i]);
    EXPECT_EQ(run.steps[i].lr, 0.1);
    EXPECT_EQ(run.steps[i].elements, 8);
  }
  ASSERT_EQ(run.devices.size(), 1U);
  EXPECT_EQ(run.devices[0].peak.used, result.charged_peak);
  for (const report::RunMemory& memory : run.devices[0].memory) {
    EXPECT_LE(memory.used, memory.limit);
    Bytes held = 0;
    for (const report::RunHeld& each : memory.held) held += each.bytes;
    EXPECT_LE(held, memory.used) << "holders are within the pages that are charged";
  }
  EXPECT_FALSE(run.devices[0].peak.held.empty());
}

TEST(FitLog, HasLimitsThatMovedAndThePlansThatFollowed) {
  const LogFile file;
  const Device device = test::own_cpu({.limit = MiB(16)});
  bool lowered = false;
  const Callback callback{.on_step = [&](train::Run& run) {
    if (run.step() == 4) device.budget().set_limit(MiB(12));
    lowered = lowered || run.step() > 4;
  }};
  fit(file, device, {.epochs = 2, .callbacks = {callback}});
  EXPECT_TRUE(lowered);
  const std::vector<json> lines = file.lines();
  ASSERT_EQ(count(lines, "limit"), 1U);
  const report::Run run = report::read_run(file.path());
  EXPECT_EQ(run.devices[0].memory.front().limit, MiB(16));
  EXPECT_EQ(run.devices[0].memory.back().limit, MiB(12));
}

TEST(FitLog, SaysWhatARunFailedWith) {
  const LogFile file;
  const Callback callback{.on_step = [](train::Run& run) {
    if (run.step() == 3) throw Error("the callback gave up");
  }};
  EXPECT_THROW(fit(file, test::own_cpu({.limit = MiB(16)}), {.epochs = 2, .callbacks = {callback}}),
               Error);
  const report::Run run = report::read_run(file.path());
  EXPECT_EQ(run.state, report::RunState::failed);
  EXPECT_EQ(run.ending, "the callback gave up");
  EXPECT_EQ(run.steps.back().step, 3);
}

TEST(FitLog, HasWhoHeldWhatWhenMemoryWasRefused) {
  const LogFile file;
  const Device device = test::own_cpu({.limit = MiB(16)});
  const Callback callback{.on_step = [&](train::Run& run) {
    if (run.step() == 3) Tensor::zeros({MiB(16)}, DType::f32, device, {.label = "all of it"});
  }};
  EXPECT_THROW(fit(file, device, {.epochs = 2, .callbacks = {callback}}), OutOfMemory);
  const report::Run run = report::read_run(file.path());
  EXPECT_EQ(run.state, report::RunState::failed);
  const json refusal = json::parse(run.out_of_memory);
  EXPECT_EQ(refusal.at("label"), "all of it");
  EXPECT_EQ(refusal.at("requested"), MiB(64));
  EXPECT_FALSE(refusal.at("holders").empty());
}

TEST(FitLog, WritesNothingWhereTheLogGoesNowhere) {
  RunLog nowhere;
  FitLog log(nowhere);
  log.watch({test::own_cpu()});
  log.step({.step = 1});
  log.sample();
  log.finish();
}

TEST(FitLog, OfAHundredThousandStepsIsBoundedAndKeepsSpikes) {
  const LogFile file;
  {
    RunLog log(file.path());
    FitLog steps(log);
    for (std::int64_t step = 1; step <= 100'000; ++step) {
      const bool spike = step == 70'001 || step == 99'998;
      steps.step({.step = step,
                  .epoch = step / 1000,
                  .loss = spike ? 1e6 : 0.123456789012345 + 1.0 / static_cast<double>(step),
                  .accuracy = 0.987654321,
                  .rate = 0.00012345678901,
                  .seconds = 0.00123456789,
                  .waited = 0.0000123456789,
                  .elements = 128,
                  .used = step == 77'777 ? GiB(100) : GiB(1)});
    }
  }
  EXPECT_LE(fs::file_size(file.path()), 40'000'000U);
  const report::Run run = report::read_run(file.path());
  std::int64_t all = 0;
  int spikes = 0;
  Bytes used = 0;
  for (const report::RunStep& step : run.steps) {
    all += step.steps;
    spikes += step.loss_max == 1e6 ? 1 : 0;
    used = std::max(used, step.used);
  }
  EXPECT_EQ(all, 100'000);
  EXPECT_EQ(run.steps.back().step, 100'000);
  EXPECT_EQ(spikes, 2);
  EXPECT_EQ(used, GiB(100));
  EXPECT_LT(run.steps.size(), 80'000U);
}

}  // namespace
}  // namespace plimsoll::train
