// A sample of what random_pipelines_slow_test.cpp does in full.

#include <gtest/gtest.h>

#include "data/random_pipelines.h"

namespace plimsoll::data::testing {
namespace {

TEST(RandomPipelines, AreWorthRunning) {
  std::size_t elements = 0;
  int some = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::size_t count = RandomRun(seed).stream(1, kUnlimited).size();
    elements += count;
    some += count > 20 ? 1 : 0;
  }
  EXPECT_GT(elements, 1'000U);
  EXPECT_GE(some, 12);
}

TEST(RandomPipelines, OneStreamForAllThreadsAndBudgets) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_one_stream(RandomRun(seed), {1.0});
}

TEST(RandomPipelines, ARestoredStreamGoesOnAsTheUninterruptedOne) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_resumes(RandomRun(seed), 4, seed);
}

TEST(RandomPipelines, EpochsLeaveNoGrowth) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    expect_no_growth(RandomRun(seed), 30, 1);
  }
}

}  // namespace
}  // namespace plimsoll::data::testing
