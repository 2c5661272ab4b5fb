#pragma once

#include <atomic>

namespace plimsoll {

/// A mutex whose uncontended lock is one atomic instruction and whose unlock is a plain store: an
/// allocation and its release need two of each, and through pthread they were a third of their
/// time. Waiters sleep. Satisfies Lockable.
class FastMutex {
 public:
  void lock() {
    if (!try_lock()) lock_contended();
  }

  bool try_lock() {
    int expected = 0;
    return held_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void unlock() {
    held_.store(0, std::memory_order_release);
    // A waiter that has just come may be missed, as nothing orders the store before this load. It
    // sleeps for a millisecond at the most.
    if (waiters_.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  void lock_contended();
  void wake();

  std::atomic<int> held_{0};
  std::atomic<int> waiters_{0};
};

}  // namespace plimsoll
