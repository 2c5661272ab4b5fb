#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace plimsoll {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::int64_t timeout_ns) {
  const timespec timeout{.tv_sec = static_cast<std::time_t>(timeout_ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000)};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value,
                              timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(const std::atomic<std::uint32_t>* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace plimsoll
