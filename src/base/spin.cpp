#include "base/spin.h"

#include <ctime>

#include <algorithm>

namespace plimsoll {
namespace {

/// Between two looks at a thread's own time, which asks the kernel.
constexpr std::int64_t kLook = 2'000'000;
/// A thread that lacked a core for more than one part in so many shares it with another process.
/// The kernel's own threads take less.
constexpr std::int64_t kShare = 10;
/// How long nobody spins then: doubled each time that spinning was soon found wrong again.
constexpr std::int64_t kLeastBackoff = 20'000'000;
constexpr std::int64_t kMostBackoff = 640'000'000;
/// Where nobody spins for long, a few looks still save a sleep.
constexpr std::int64_t kShortSpin = 2'000;
/// Gaps count as no longer than this, so that one pause does not outweigh the steps after it.
constexpr std::int64_t kLongGap = 4 * SpinPolicy::kSpin;

std::int64_t clock_ns(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::int64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t SpinPolicy::budget(std::int64_t now) const {
  return now < busy_until_.load(std::memory_order_relaxed) ? kShortSpin : kSpin;
}

void SpinPolicy::observe(std::int64_t now, std::int64_t wall, std::int64_t cpu) {
  const std::int64_t before = busy_until_.load(std::memory_order_relaxed);
  if (wall - cpu <= wall / kShare) return;
  // Soon after the last time, the cores are likely to be shared for longer.
  std::int64_t backoff = backoff_.load(std::memory_order_relaxed);
  if (now >= before) {
    backoff = now - before < 2 * backoff ? std::min(2 * backoff, kMostBackoff) : kLeastBackoff;
    backoff_.store(backoff, std::memory_order_relaxed);
  }
  busy_until_.store(now + backoff, std::memory_order_relaxed);
}

SpinMeter::SpinMeter(SpinPolicy& policy)
    : policy_(policy), wall_(monotonic_ns()), cpu_(thread_cpu_ns()) {}

std::int64_t SpinMeter::budget(std::int64_t now) const {
  const std::int64_t budget = policy_.budget(now);
  return gap_ <= SpinPolicy::kSpin ? budget : std::min(budget, kShortSpin);
}

void SpinMeter::waited(std::int64_t gap, std::int64_t slept) {
  slept_ += slept;
  gap_ += (std::min(gap, kLongGap) - gap_) / 8;
}

void SpinMeter::look(std::int64_t now) {
  const std::int64_t wanted = now - wall_ - slept_;
  if (wanted < kLook) return;
  const std::int64_t cpu = thread_cpu_ns();
  policy_.observe(now, wanted, cpu - cpu_);
  wall_ = now;
  cpu_ = cpu;
  slept_ = 0;
}

}  // namespace plimsoll
