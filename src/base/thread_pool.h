#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "base/spin.h"

namespace plimsoll {

/// The threads behind parallel_for and parallel_tasks. A caller lists its job and works on it
/// itself; threads of the pool join if they come in time. So a caller never waits for a thread that
/// has not begun, and work goes on where no thread can be made.
class ThreadPool {
 public:
  using Body = std::function<void(std::int64_t task, int slot)>;

  /// The process's. Never destroyed, as its threads may outlive main.
  static ThreadPool& instance();

  /// Calls body(task, slot) for all tasks below `count`, in at most `threads` threads.
  void run(std::int64_t count, int threads, const Body& body);

  /// Whether the calling thread is at work on a task.
  static bool inside();
  /// Sets that, and returns what it was.
  static bool set_inside(bool inside);

  /// Threads of the pool now, without callers.
  int workers();

 private:
  struct Job {
    const Body& body;
    std::int64_t count;
    int helpers;  ///< that may join
    int joined = 0;
    std::atomic<std::int64_t> next{0};
    /// Helpers at work on it, and kAsleep if the caller sleeps until they have left.
    std::atomic<std::uint32_t> at_work{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
  };
  static constexpr std::uint32_t kAsleep = std::uint32_t{1} << 31;

  void begin(Job& job);
  void end(Job& job);
  void add_workers(int wanted);
  void serve();
  Job* join(int& slot);
  bool wait_for_jobs(std::uint32_t seen, SpinMeter& meter);
  static void work(Job& job, int slot);
  static void leave(Job& job);

  std::mutex mutex_;
  std::vector<Job*> jobs_;  ///< with tasks that nobody has taken, perhaps
  int workers_ = 0;
  /// Counts jobs. Threads sleep on it.
  std::atomic<std::uint32_t> listed_{0};
  std::atomic<int> spinning_{0};
  std::atomic<int> sleeping_{0};
  SpinPolicy policy_;
};

}  // namespace plimsoll
