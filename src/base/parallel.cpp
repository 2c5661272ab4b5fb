#include <plimsoll/base/parallel.h>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/serial_scope.h>
#include <plimsoll/base/system.h>

#include "base/thread_pool.h"

namespace plimsoll {
namespace {

std::atomic<int> chosen_threads{0};

/// Pieces for each thread: with more than one, a thread that comes late leaves little to wait for.
constexpr std::int64_t kPieces = 4;

}  // namespace

int compute_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  if (chosen > 0) return chosen;
  static const int available = default_threads();
  return available;
}

int most_compute_threads() {
  static const int most = std::max(16, 4 * affinity_cpus());
  return most;
}

void set_compute_threads(int threads) {
  if (threads < 0 || threads > most_compute_threads()) {
    throw InvalidArgument(
        fmt::format("[set_compute_threads] {} threads on {} CPUs; use 1 to {}, or 0 for as many as "
                    "there are CPUs",
                    threads, affinity_cpus(), most_compute_threads()));
  }
  chosen_threads.store(threads, std::memory_order_relaxed);
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t most = (count + grain - 1) / grain;
  const int threads = compute_threads();
  if (threads == 1 || most == 1 || ThreadPool::inside()) return body(0, count);
  const std::int64_t pieces = std::min(most, kPieces * threads);
  ThreadPool::instance().run(pieces, threads, [&](std::int64_t piece, int) {
    const std::int64_t first = count * piece / pieces;
    const std::int64_t last = count * (piece + 1) / pieces;
    if (first < last) body(first, last);
  });
}

void parallel_tasks(std::int64_t count, int threads,
                    const std::function<void(std::int64_t, int)>& body) {
  if (threads > 1 && count > 1 && !ThreadPool::inside()) {
    return ThreadPool::instance().run(count, threads, body);
  }
  for (std::int64_t task = 0; task < count; ++task) body(task, 0);
}

bool in_parallel_task() { return ThreadPool::inside(); }

SerialScope::SerialScope() : before_(ThreadPool::set_inside(true)) {}
SerialScope::~SerialScope() { ThreadPool::set_inside(before_); }

}  // namespace plimsoll
