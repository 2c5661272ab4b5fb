// For tests in which a thread must have come to wait before the test goes on.
#pragma once

#include <fstream>
#include <string>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

namespace plimsoll::test {

/// What the system calls this thread, for wait_until_blocked().
inline long this_thread_number() { return ::syscall(SYS_gettid); }

/// Returns when that thread of this process waits for something (a lock, say), as the system sees
/// it. Not before: who calls this for a thread that never waits is stopped by the test's time
/// limit.
inline void wait_until_blocked(long thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (;;) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    // "NUMBER (NAME) STATE ...": S is asleep until somebody wakes it.
    const std::size_t name_end = text.rfind(')');
    if (name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] == 'S') {
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace plimsoll::test
