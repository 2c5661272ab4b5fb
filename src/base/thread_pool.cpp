#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include <plimsoll/base/system.h>

#include "base/futex.h"

namespace plimsoll {
namespace {

/// Threads without work for so long end and give their stacks back.
constexpr std::int64_t kIdle = 5'000'000'000;
/// Looks at a variable between two at the clock.
constexpr int kLooks = 16;

thread_local bool at_task = false;
std::atomic<ThreadPool*> the_pool{nullptr};

/// Spins until `done()`, or until `until`; false then. `now` becomes the time it ended.
template <typename Done>
bool spin(Done done, std::int64_t until, std::int64_t& now) {
  for (;;) {
    for (int i = 0; i < kLooks; ++i) {
      if (done()) {
        now = monotonic_ns();
        return true;
      }
      spin_pause();
    }
    now = monotonic_ns();
    if (now >= until) return done();
  }
}

}  // namespace

ThreadPool& ThreadPool::instance() {
  static const bool once = [] {
    the_pool.store(new ThreadPool);
    // The child has none of the threads, and may have begun while the lock was held.
    pthread_atfork(nullptr, nullptr, [] { the_pool.store(new ThreadPool); });
    return true;
  }();
  (void)once;
  return *the_pool.load(std::memory_order_acquire);
}

bool ThreadPool::inside() { return at_task; }

bool ThreadPool::set_inside(bool inside) { return std::exchange(at_task, inside); }

int ThreadPool::workers() {
  const std::scoped_lock lock(mutex_);
  return workers_;
}

void ThreadPool::run(std::int64_t count, int threads, const Body& body) {
  const auto helpers = static_cast<int>(std::min<std::int64_t>(threads, count)) - 1;
  Job job{.body = body, .count = count, .helpers = std::max(0, helpers)};
  if (job.helpers > 0) begin(job);
  work(job, 0);
  if (job.helpers > 0) end(job);
  if (job.error) std::rethrow_exception(job.error);
}

void ThreadPool::begin(Job& job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(&job);
    if (workers_ < job.helpers) add_workers(job.helpers);
  }
  listed_.fetch_add(1, std::memory_order_seq_cst);
  const int sleeping = sleeping_.load(std::memory_order_seq_cst);
  const int needed = job.helpers - spinning_.load(std::memory_order_relaxed);
  if (sleeping > 0 && needed > 0) futex_wake(&listed_, std::min(sleeping, needed));
}

/// With the lock held. More threads than CPUs would only take turns.
void ThreadPool::add_workers(int wanted) {
  static const int most = std::max(1, affinity_cpus() - 1);
  try {
    for (; workers_ < std::min(wanted, most); ++workers_) {
      std::thread([this] { serve(); }).detach();
    }
  } catch (const std::system_error&) {
    // The system has no more threads for us: callers do the work.
  }
}

void ThreadPool::end(Job& job) {
  {
    const std::scoped_lock lock(mutex_);
    std::erase(jobs_, &job);
  }
  if (job.at_work.load(std::memory_order_acquire) == 0) return;
  std::int64_t now = monotonic_ns();
  const auto left = [&] { return job.at_work.load(std::memory_order_acquire) == 0; };
  if (spin(left, now + policy_.budget(now), now)) return;
  std::uint32_t value = job.at_work.fetch_or(kAsleep, std::memory_order_acq_rel) | kAsleep;
  while (value != kAsleep) {
    futex_wait(job.at_work, value);
    value = job.at_work.load(std::memory_order_acquire);
  }
}

void ThreadPool::work(Job& job, int slot) {
  for (;;) {
    const std::int64_t task = job.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= job.count) return;
    if (job.failed.load(std::memory_order_relaxed)) continue;
    const bool before = std::exchange(at_task, true);
    try {
      job.body(task, slot);
    } catch (...) {
      if (!job.failed.exchange(true)) job.error = std::current_exception();
    }
    at_task = before;
  }
}

/// A helper's last use of a job: once it has left, the job may be gone.
void ThreadPool::leave(Job& job) {
  const std::atomic<std::uint32_t>* word = &job.at_work;
  if (job.at_work.fetch_sub(1, std::memory_order_acq_rel) == (kAsleep | 1)) futex_wake(word, 1);
}

ThreadPool::Job* ThreadPool::join(int& slot) {
  const std::scoped_lock lock(mutex_);
  for (Job* job : jobs_) {
    if (job->joined == job->helpers || job->next.load(std::memory_order_relaxed) >= job->count) {
      continue;
    }
    slot = ++job->joined;
    job->at_work.fetch_add(1, std::memory_order_relaxed);
    return job;
  }
  return nullptr;
}

void ThreadPool::serve() {
  SpinMeter meter(policy_);
  for (;;) {
    const std::uint32_t seen = listed_.load(std::memory_order_acquire);
    int slot = 0;
    if (Job* job = join(slot)) {
      work(*job, slot);
      leave(*job);
    } else if (!wait_for_jobs(seen, meter)) {
      return;
    }
  }
}

/// Until more jobs than `seen` were listed. False if this thread has ended for lack of them.
bool ThreadPool::wait_for_jobs(std::uint32_t seen, SpinMeter& meter) {
  const auto listed = [&] { return listed_.load(std::memory_order_acquire) != seen; };
  const std::int64_t begin = monotonic_ns();
  meter.look(begin);
  std::int64_t now = begin;
  spinning_.fetch_add(1, std::memory_order_relaxed);
  const bool soon = spin(listed, begin + meter.budget(begin), now);
  spinning_.fetch_sub(1, std::memory_order_relaxed);
  if (soon) {
    meter.waited(now - begin, 0);
    return true;
  }
  const std::int64_t asleep = now;
  bool in_time = true;
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  while (in_time && !listed()) in_time = futex_wait(listed_, seen, kIdle);
  sleeping_.fetch_sub(1, std::memory_order_relaxed);
  if (!in_time) {
    const std::scoped_lock lock(mutex_);
    if (!listed() && jobs_.empty()) {
      --workers_;
      return false;
    }
  }
  now = monotonic_ns();
  meter.waited(now - begin, now - asleep);
  return true;
}

}  // namespace plimsoll
