#include <cstdio>

#include <gtest/gtest.h>

#include "data/random_pipelines.h"

namespace plimsoll::data::testing {
namespace {

TEST(RandomPipelines, OneStreamForEveryNumberOfThreadsAndEveryBudget) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    expect_one_stream(RandomRun(seed), {1.0, 1.1, 1.5, 3.0, 100.0});
  }
}

TEST(RandomPipelines, AHundredPlacesToStopAreGoneOnFrom) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RestoreTimes times = expect_resumes(RandomRun(seed), 100, seed);
    std::printf("seed %2u: restored %d times, %.2f ms on average, %.2f ms at worst\n", seed,
                times.count, times.total / times.count, times.worst);
  }
}

TEST(RandomPipelines, MorePipelinesAreGoneOnFrom) {
  for (unsigned seed = 1'000; seed < 1'200; ++seed) expect_resumes(RandomRun(seed), 10, seed);
}

TEST(RandomPipelines, ErrorsThatWereThrownAreNotSeenAgain) {
  for (unsigned seed = 2'000; seed < 2'200; ++seed) expect_resumes(RandomRun(seed, true), 10, seed);
}

TEST(RandomPipelines, AThousandEpochsLeaveNoGrowth) {
  for (unsigned seed = 0; seed < 20; ++seed) expect_no_growth(RandomRun(seed), 1'000, 1);
}

TEST(RandomPipelines, AThousandEpochsWithThreadsLeaveNoGrowth) {
  for (unsigned seed = 0; seed < 5; ++seed) expect_no_growth(RandomRun(seed), 1'000, 3);
}

}  // namespace
}  // namespace plimsoll::data::testing
