// What the pool's threads cost while they have nothing to do, by their own time and not the
// clock's.
#include <time.h>

#include <atomic>
#include <cstdint>

#include <gmock/gmock.h>

#include <plimsoll/base/parallel.h>

namespace plimsoll {
namespace {

std::int64_t process_cpu_ns() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

/// What the process used while this thread was away for `ms` milliseconds.
std::int64_t used_in(int ms) {
  const std::int64_t before = process_cpu_ns();
  const timespec away{.tv_sec = 0, .tv_nsec = ms * 1'000'000L};
  nanosleep(&away, nullptr);
  return process_cpu_ns() - before;
}

TEST(ThreadPool, ThreadsWithoutWorkUseNoTime) {
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 200; ++round) {
    parallel_tasks(8, 4, [&](std::int64_t task, int) { sum += task; });
  }
  EXPECT_EQ(sum, 200 * 28);
  used_in(20);  // the last job's spinning
  EXPECT_LT(used_in(200), 1'000'000);
}

TEST(ThreadPool, ThreadsStopSpinningSoonAfterTheLastJob) {
  for (int round = 0; round < 20; ++round) {
    parallel_tasks(8, 4, [](std::int64_t, int) {});
  }
  EXPECT_LT(used_in(50), 2'000'000);
}

}  // namespace
}  // namespace plimsoll
