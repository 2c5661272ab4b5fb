#include <plimsoll/base/parallel.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/system.h>

#include "base/spin.h"
#include "base/thread_pool.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// How many of `calls` are not `expected`.
std::int64_t differing(const std::vector<std::atomic<int>>& calls, int expected) {
  return std::ranges::count_if(calls, [&](const auto& each) { return each != expected; });
}

/// Divides work for `threads` threads until it goes out of scope.
struct Threads {
  explicit Threads(int threads) { set_compute_threads(threads); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { set_compute_threads(0); }
};

std::string refusal(int threads) {
  try {
    set_compute_threads(threads);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  set_compute_threads(0);
  return "";
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    for (const std::int64_t count : {0, 1, 2, 63, 64, 65, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      parallel_for(count, 8, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) ++calls[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(differing(calls, 1), 0) << count << " in " << threads;
    }
  }
}

TEST(ParallelTasks, RunOnceEachAndNeverShareASlot) {
  constexpr int kThreads = 3;
  std::vector<std::atomic<int>> calls(500);
  std::vector<std::atomic<bool>> taken(kThreads);
  std::atomic<int> shared{0};
  for (int round = 0; round < 20; ++round) {
    parallel_tasks(500, kThreads, [&](std::int64_t task, int slot) {
      ASSERT_LT(slot, kThreads);
      const auto at = static_cast<std::size_t>(slot);
      if (taken[at].exchange(true)) ++shared;
      ++calls[static_cast<std::size_t>(task)];
      taken[at] = false;
    });
  }
  EXPECT_EQ(differing(calls, 20), 0);
  EXPECT_EQ(shared, 0);
}

TEST(ParallelTasks, TheFirstExceptionIsRethrownAndThePoolGoesOn) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(parallel_tasks(8, 4,
                                [](std::int64_t task, int) {
                                  if (task == 2) throw std::out_of_range("two");
                                }),
                 std::out_of_range);
  }
  std::atomic<int> calls{0};
  parallel_tasks(8, 4, [&](std::int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 8);
}

TEST(ParallelTasks, CalledFromWithinRunInTheSameThread) {
  std::atomic<int> elsewhere{0};
  EXPECT_FALSE(in_parallel_task());
  parallel_tasks(6, 3, [&](std::int64_t, int) {
    EXPECT_TRUE(in_parallel_task());
    const auto self = std::this_thread::get_id();
    parallel_for(1000, 1, [&](std::int64_t, std::int64_t) {
      if (std::this_thread::get_id() != self) ++elsewhere;
    });
  });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_FALSE(in_parallel_task());
}

TEST(ParallelTasks, OfSeveralCallersAtOnceAreAllDone) {
  constexpr int kCallers = 8;
  std::vector<std::int64_t> sums(kCallers, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&sums, caller] {
      for (int round = 0; round < 100; ++round) {
        std::vector<std::int64_t> values(64, 0);
        parallel_tasks(64, 4, [&](std::int64_t task, int) {
          values[static_cast<std::size_t>(task)] = task + caller;
        });
        sums[static_cast<std::size_t>(caller)] +=
            std::accumulate(values.begin(), values.end(), std::int64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int caller = 0; caller < kCallers; ++caller) {
    EXPECT_EQ(sums[static_cast<std::size_t>(caller)], 100 * (64 * 63 / 2 + 64 * caller));
  }
}

TEST(ComputeThreads, BeyondWhatTheMachineCanUseAreRefusedNamingItsCpus) {
  const std::string cpus = std::to_string(affinity_cpus()) + " CPUs";
  EXPECT_THAT(refusal(1'000'000'000), AllOf(HasSubstr("1000000000 threads"), HasSubstr(cpus)));
  EXPECT_THAT(refusal(-1), HasSubstr("-1 threads"));
  EXPECT_EQ(refusal(most_compute_threads()), "");
}

TEST(ComputeThreads, NoMoreRunThanThereAreCpus) {
  const Threads scope(most_compute_threads());
  std::atomic<int> calls{0};
  parallel_tasks(1000, most_compute_threads(), [&](std::int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 1000);
  EXPECT_LE(ThreadPool::instance().workers(), std::max(1, affinity_cpus() - 1));
}

// ThreadSanitizer does not let a child of a process with threads start any.
#ifndef __SANITIZE_THREAD__
TEST(ThreadPool, AChildAfterForkHasOneOfItsOwn) {
  parallel_tasks(8, 4, [](std::int64_t, int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> calls{0};
    for (int round = 0; round < 100; ++round) {
      parallel_tasks(8, 4, [&](std::int64_t, int) { ++calls; });
    }
    _exit(calls == 800 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

constexpr std::int64_t kMs = 1'000'000;

TEST(SpinPolicy, ThreadsSpinWhileTheCoresAreTheirs) {
  SpinPolicy policy;
  policy.observe(10 * kMs, 2 * kMs, 2 * kMs - 50'000);  // the kernel's own threads took 50 us
  EXPECT_EQ(policy.budget(10 * kMs), SpinPolicy::kSpin);
}

TEST(SpinPolicy, NobodySpinsForAWhileAfterAThreadLackedACore) {
  SpinPolicy policy;
  policy.observe(10 * kMs, 4 * kMs, 2 * kMs);
  EXPECT_LE(policy.budget(11 * kMs), 2'000);
  EXPECT_LE(policy.budget(29 * kMs), 2'000);
  EXPECT_EQ(policy.budget(31 * kMs), SpinPolicy::kSpin);
}

TEST(SpinPolicy, TheWhileGrowsAsLongAsTheCoresStayBusyAndEndsWithThem) {
  SpinPolicy policy;
  std::int64_t now = 10 * kMs;
  std::int64_t spinning = 0;
  for (int i = 0; i < 10'000; ++i, now += kMs) {
    if (policy.budget(now) < SpinPolicy::kSpin) continue;
    ++spinning;
    policy.observe(now, 2 * kMs, kMs);
  }
  EXPECT_LE(spinning, 25);  // of ten seconds in milliseconds
  EXPECT_EQ(policy.budget(now + 1000 * kMs), SpinPolicy::kSpin);
}

TEST(SpinMeter, AThreadWhoseJobsAreFarApartDoesNotSpin) {
  SpinPolicy policy;
  SpinMeter meter(policy);
  EXPECT_EQ(meter.budget(0), SpinPolicy::kSpin);
  for (int i = 0; i < 20; ++i) meter.waited(50 * kMs, 50 * kMs);
  EXPECT_LE(meter.budget(0), 2'000);
  for (int i = 0; i < 20; ++i) meter.waited(10'000, 0);
  EXPECT_EQ(meter.budget(0), SpinPolicy::kSpin);
}

}  // namespace
}  // namespace plimsoll
