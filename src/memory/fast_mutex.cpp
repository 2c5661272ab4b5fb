#include "memory/fast_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace plimsoll {

static_assert(sizeof(std::atomic<int>) == sizeof(int), "a futex is a plain int");

void FastMutex::lock_contended() {
  // Most holds are shorter than going to sleep.
  for (int i = 0; i < 100; ++i) {
    if (held_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  waiters_.fetch_add(1);
  while (!try_lock()) {
    const timespec patience{0, 1'000'000};
    syscall(SYS_futex, &held_, FUTEX_WAIT_PRIVATE, 1, &patience, nullptr, 0);
  }
  waiters_.fetch_sub(1);
}

void FastMutex::wake() { syscall(SYS_futex, &held_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace plimsoll
