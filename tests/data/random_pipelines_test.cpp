// A sample of what random_pipelines_slow_test.cpp does in full.

#include <gtest/gtest.h>

#include "data/random_pipelines.h"

namespace plimsoll::data::testing {
namespace {

TEST(RandomPipelines, OneStreamForAllThreadsAndBudgets) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_one_stream(RandomRun(seed), {1.0});
}

TEST(RandomPipelines, ARestoredStreamGoesOnAsTheUninterruptedOne) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_resumes(RandomRun(seed), 4, seed);
}

TEST(RandomPipelines, EpochsLeaveNoGrowth) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_no_growth(RandomRun(seed), 30);
}

}  // namespace
}  // namespace plimsoll::data::testing
