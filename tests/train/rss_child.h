// The system's own figure for a training run on the CPU: each runs in a process of its own, whose
// peak RSS must be at most the budget plus 32 MiB. Included by one file of a test program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <plimsoll/nn/model.h>
#include <plimsoll/train/trainer.h>

#include "device/shadow_memory.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll::test {

using Json = nlohmann::json;

/// How a run is told to the process that makes it.
constexpr const char* kRssCase = "PLIMSOLL_RSS_CASE";
constexpr Bytes kRssSlack = MiB(32);

inline train::Trainer rss_trainer(const Json& c) {
  train::TrainerOptions options;
  options.precision = train::Precision::parse(c.value("precision", "f32"));
  options.accumulate = c.value("accumulate", 1);
  options.clip_norm = c.value("clip_norm", 0.0);
  options.moving_average = c.value("average", 0.0);
  options.allow_split_batch_statistics = true;
  const std::string name = c.value("optimizer", "sgd");
  optim::Optimizer optimizer =
      name == "adam" ? optim::adam({.lr = 1e-4}) : optim::sgd({.lr = 1e-4, .momentum = 0.9});
  return train::Trainer(
      nn::make_model(c.at("model").get<std::string>(),
                     {.classes = c.value("classes", 4), .size = c.value("size", 0)}),
      std::move(optimizer), options);
}

inline train::PlanRequest rss_request(const Json& c) {
  const std::int64_t batch = c.value("batch", 8);
  return {.batch = batch, .validation_batch = c.value("validation", true) ? batch : 0};
}

/// The budget that a refusal of a much smaller one names.
inline Bytes rss_smallest(const Json& c) {
  train::PlanRequest request = rss_request(c);
  request.budget = KiB(64);
  plan::DeviceDescription cpu = plan::describe_device("cpu");
  cpu.page_size = KiB(64);
  try {
    (void)rss_trainer(c).plan(request, cpu);
  } catch (const BudgetTooSmall& error) {
    // In pages that a device of that limit has, which may be larger.
    const Bytes named = parse_refusal(error.what()).budget;
    return named >= MiB(128) ? named + MiB(8) : named;
  }
  return 0;
}

/// Runs in the process of its own: two steps, or one for each move of the limit.
inline void rss_run(const Json& c) {
  const auto budget = c.at("budget").get<Bytes>();
  const Device device = Device::open("cpu:0", {.limit = Limit(budget)});
  train::Trainer trainer = rss_trainer(c);
  const train::PlanRequest request = rss_request(c);
  const train::TrainingPlan plan = trainer.plan(request, device);
  const int moves = c.value("moves", 0);
  const std::int64_t steps = moves == 0 ? 2 : moves;
  const data::Dataset data =
      any_data(trainer.model(), 4, request.batch * steps).batch(request.batch).prefetch();
  train::FitOptions options{.epochs = 1, .measure_after = moves == 0 ? 1 : 3};
  options.pipeline.threads = c.value("threads", 0);
  const Bytes low = c.value("low", budget);
  int moved = 0;
  if (moves != 0) {
    options.callbacks = {{.on_step = [&](train::Run& run) {
      device.budget().set_limit(run.step() % 2 == 1 ? low : budget);
      ++moved;
    }}};
  }
  const auto validation = request.validation_batch == 0
                              ? std::optional<data::Dataset>()
                              : any_data(trainer.model(), 4, request.batch).batch(request.batch);
  const train::FitResult result = trainer.fit(plan, data, validation, options);
  EXPECT_EQ(result.steps, steps);
  EXPECT_EQ(moved, moves);
  EXPECT_LE(result.charged_peak, budget);
  // Each lowering needs a new plan, and a raised limit that makes steps faster is used.
  EXPECT_GE(result.replans, moves * 3 / 4);
  long peak = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::sscanf(line.c_str(), "VmHWM: %ld", &peak);
  }
  std::printf("replans %lld\nrss_peak %ld\n", static_cast<long long>(result.replans), peak);
}

TEST(RssChild, Trains) {
  const char* const given = std::getenv(kRssCase);
  if (given == nullptr) GTEST_SKIP() << "part of the tests of RSS";
  rss_run(Json::parse(given));
}

/// Without a budget: the smallest.
inline void expect_within_rss(Json c) {
  if (kShadowMemory) GTEST_SKIP() << "the sanitizer's memory counts, too";
  if (!c.contains("budget")) c["budget"] = rss_smallest(c);
  const auto budget = c.at("budget").get<Bytes>();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string line =
      fmt::format("{}='{}' '{}' --gtest_filter=RssChild.Trains 2>&1", kRssCase, c.dump(), self);
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  ASSERT_EQ(WEXITSTATUS(::pclose(pipe)), 0) << c.dump() << "\n" << text;
  const std::size_t at = text.find("rss_peak ");
  ASSERT_NE(at, std::string::npos) << c.dump() << "\n" << text;
  const Bytes peak = KiB(std::strtoull(text.c_str() + at + 9, nullptr, 10));
  ::testing::Test::RecordProperty(
      "beside_kib_of_" + c.at("model").get<std::string>(),
      fmt::format("{}", static_cast<std::int64_t>(peak - budget) / 1024));
  EXPECT_LE(peak, budget + kRssSlack)
      << c.dump() << ": " << format_bytes(peak) << " within " << format_bytes(budget);
}

}  // namespace plimsoll::test
