// Two hundred random trainings on the GPU: each runs within its budget or is refused before its
// first step, and the smallest budget it names then runs.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>

#include "support/driver_peak.h"
#include "support/own_device.h"
#include "support/random_training.h"
#include "support/toy_training.h"

namespace plimsoll {
namespace {

/// What the smallest of them needs on a GPU besides its own bytes: the slot for scratch, and pages
/// of 2 MiB for each block.
constexpr Bytes kBeside = MiB(40);

void run_within(const test::RandomTraining& config, Bytes limit) {
  const Device device = test::own_device("cuda:0", {.limit = limit});
  train::Trainer trainer = config.trainer();
  const auto plan = trainer.plan({.batch = config.batch, .validation_batch = config.batch}, device);
  EXPECT_LE(plan.total(), limit) << config.text;
  const data::Dataset data = config.data(config.batch * 2).batch(config.batch);
  test::DriverPeak driver(device, std::chrono::milliseconds(1));
  const auto result = trainer.fit(plan, data, data, {.epochs = 1, .host = test::own_cpu()});
  const Bytes driver_peak = driver.stop();
  if (device.process_used()) {
    EXPECT_LE(driver_peak, limit) << config.text;
  }
  EXPECT_EQ(result.steps, 2) << config.text;
  EXPECT_EQ(result.planned_peak, result.measured_peak) << config.text;
  EXPECT_LE(result.charged_peak, limit) << config.text;
}

class RandomConfigurationsOnGpu : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomConfigurationsOnGpu, RunWithinTheirBudgetOrAreRefused) {
  std::string why;
  if (find_backend("cuda")->count(why) == 0) GTEST_SKIP() << why;
  const Device kept = test::own_device("cuda:0");
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 20; ++seed) {
    const test::RandomTraining config(seed);
    SCOPED_TRACE(config.text);
    try {
      run_within(config, kept.runtime() + kBeside + config.budget * 4);
    } catch (const BudgetTooSmall& refusal) {
      const Bytes named = test::parse_refusal(refusal.what()).budget;
      if (named == 0) continue;
      EXPECT_NO_THROW(run_within(config, named));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConfigurationsOnGpu,
                         ::testing::Range<std::uint64_t>(3000, 3200, 20));

}  // namespace
}  // namespace plimsoll
