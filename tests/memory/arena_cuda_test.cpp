// The arena on a GPU's pages: its faults, its threads, its streams. The suites are those that run
// on host memory.
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "memory/arena_faults.h"
#include "memory/arena_threads.h"
#include "memory/cuda_source.h"
#include "memory/device_stream_use.h"

namespace plimsoll::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Gpu, ArenaFaults,
    ::testing::Values(ArenaFaultCase{.source = kCuda, .operations = 300},
                      ArenaFaultCase{.source = kCuda, .operations = 300, .every = 5, .count = 3},
                      ArenaFaultCase{.source = kPinned, .operations = 300, .every = 10}),
    fault_case_name);

TEST(ArenaOnGpu, EightThreadsKeepEveryLimitAndFindWhatTheyHaveWritten) {
  const OpenedSource opened = kCuda.open();
  if (!opened.source) GTEST_SKIP() << opened.why_not;
  const Bytes before = opened.used();
  check_threads(opened, 5, 400);
  EXPECT_LE(opened.used(), before + opened.used_slack);
}

class StreamsOnGpu : public ::testing::TestWithParam<bool> {};

TEST_P(StreamsOnGpu, NothingIsReusedMovedOrUnmappedWhileAStreamMayUseIt) {
  std::string why;
  const auto device = open_gpu(&why);
  if (!device) GTEST_SKIP() << why;
  constexpr std::uint32_t kOperations = 1500;
  for (std::uint32_t seed = 0; seed < 4 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    // Some 50 microseconds of copying for each use: the host is far ahead of its streams.
    DeviceStreamUse use(device, {.busy = MiB(64), .operations = kOperations});
    StreamWorkload(use, seed, GetParam()).run(kOperations);
  }
}

INSTANTIATE_TEST_SUITE_P(Fences, StreamsOnGpu, ::testing::Values(false, true),
                         [](const auto& named) { return named.param ? "Flaky" : "Steady"; });

}  // namespace
}  // namespace plimsoll::testing
