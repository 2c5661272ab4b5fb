#pragma once

// Caches that are made by processes which are killed.

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <random>

#include <gmock/gmock.h>

#include <plimsoll/data/disk_cache.h>

#include "data/record_support.h"

namespace plimsoll::data::testing {

/// Counts its calls; its results are 400 bytes each.
inline MapFunction counted(std::atomic<int>& calls, const std::string& name = "counted 1") {
  MapFunction function;
  function.output = ElementSpec{true, {TensorSpec::of(DType::i64, {50})}, {"row"}};
  function.random = false;
  function.name = name;
  function.run = [&calls](const Element& element, MapContext& context) {
    ++calls;
    Tensor row = context.output(0);
    for (int i = 0; i < 50; ++i) row.mutable_data<std::int64_t>()[i] = number(element) * 100 + i;
    return Element{Value(row)};
  };
  return function;
}

inline constexpr CacheOptions kSmall{.segment = KiB(4)};

/// Memory that this process shares with its children.
template <typename T>
class Shared {
 public:
  Shared()
      : at_(static_cast<T*>(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (at_) T();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(at_, sizeof(T)); }
  T* operator->() const { return at_; }

 private:
  T* at_;
};

inline constexpr int kElements = 400;
struct Made {
  std::atomic<int> total;                  ///< calls since the cache was last empty
  std::atomic<int> of_element[kElements];  ///< the same by element
};

/// Kills runs at moments of the clock, with what they do cut off anywhere: nothing but whole
/// segments is believed, and little is made twice.
inline void kill_at_any_moment(int rounds) {
  constexpr int kThreads = 2;
  const TemporaryFolder folder;
  const std::string path = folder.path() / "cache";
  const Shared<Made> made;
  std::atomic<int> calls = 0;
  MapFunction function = counted(calls);
  function.run = [inner = function.run, &made](const Element& element, MapContext& context) {
    ++made->total;
    ++made->of_element[number(element)];
    return inner(element, context);
  };
  const Dataset plain = Dataset::range(kElements).map(function, {.parallel = kThreads});
  const auto expected = run(plain);
  const Dataset cached = plain.cache(path, kSmall);
  constexpr int kInSegment = static_cast<int>(KiB(4) / 400) + 1;
  std::mt19937 random(20'261'116);
  int killed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::remove_all(path);
    new (made.operator->()) Made();
    // From before anything is made to after the end.
    const std::chrono::microseconds moment(random() % 12'000);
    const ::pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) ::_exit(run(cached, {.threads = kThreads}) == expected ? 0 : 1);
    const auto until = std::chrono::steady_clock::now() + moment;
    while (std::chrono::steady_clock::now() < until) {
    }
    ::kill(pid, SIGKILL);
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    killed += WIFSIGNALED(status) ? 1 : 0;
    ASSERT_EQ(run(cached, {.threads = kThreads}), expected) << "round " << round;
    int again = 0;
    for (const auto& count : made->of_element) again += count > 1 ? count - 1 : 0;
    // What was on its way to a segment, and what the map had begun, window included.
    EXPECT_LE(again, kThreads * kInSegment) << "round " << round;
    EXPECT_TRUE(list_cache(path, true).at(0).complete) << "round " << round;
  }
  EXPECT_GT(killed, rounds / 4) << "most runs came to their end before they were killed";
}

}  // namespace plimsoll::data::testing
