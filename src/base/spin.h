#pragma once

#include <atomic>
#include <cstdint>

// When a thread that waits should spin. Spinning saves the microseconds it takes to wake a thread,
// and while other processes want the cores it costs everybody milliseconds.

namespace plimsoll {

/// Nanoseconds of the monotonic clock, and of the time the calling thread had a core.
std::int64_t monotonic_ns();
std::int64_t thread_cpu_ns();

/// A pause between two looks at a variable.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Shared by the threads of a pool: whether the cores are theirs. Thread-safe.
class SpinPolicy {
 public:
  /// How long to spin where it pays. About what waking a thread costs ten times over, and longer
  /// than most gaps between two kernels of a step.
  static constexpr std::int64_t kSpin = 200'000;

  /// How long a thread may spin that waits from `now` on.
  std::int64_t budget(std::int64_t now) const;
  /// Of `wall` nanoseconds in which a thread wanted a core, it had one for `cpu`.
  void observe(std::int64_t now, std::int64_t wall, std::int64_t cpu);

 private:
  std::atomic<std::int64_t> busy_until_{0};
  std::atomic<std::int64_t> backoff_{0};
};

/// What one thread of a pool keeps for it.
class SpinMeter {
 public:
  explicit SpinMeter(SpinPolicy& policy);
  /// How long to spin for the next job.
  std::int64_t budget(std::int64_t now) const;
  /// A job came `gap` nanoseconds after the last one, of which the thread slept `slept`.
  void waited(std::int64_t gap, std::int64_t slept);
  /// Looks, now and then, how much of its time the thread had a core.
  void look(std::int64_t now);

 private:
  SpinPolicy& policy_;
  std::int64_t gap_ = 0;  ///< a running mean
  std::int64_t wall_;
  std::int64_t cpu_;
  std::int64_t slept_ = 0;
};

}  // namespace plimsoll
