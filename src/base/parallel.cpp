#include <plimsoll/base/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include <plimsoll/base/system.h>

// The mathematical libraries come with OpenMP's threads; using the same ones keeps two pools from
// fighting over the cores. ThreadSanitizer cannot see its barriers, so there one thread does it.
#if defined(_OPENMP) && !defined(__SANITIZE_THREAD__)
#include <omp.h>
#define PLIMSOLL_OPENMP 1
#else
#define PLIMSOLL_OPENMP 0
#endif

namespace plimsoll {
namespace {
std::atomic<int> chosen_threads{0};
}  // namespace

int compute_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  if (chosen > 0) return chosen;
  static const int available = default_threads();
  return available;
}

void set_compute_threads(int threads) {
  chosen_threads.store(std::max(0, threads), std::memory_order_relaxed);
#if PLIMSOLL_OPENMP
  omp_set_num_threads(compute_threads());
#endif
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t most =
      (count + std::max<std::int64_t>(grain, 1) - 1) / std::max<std::int64_t>(grain, 1);
  const auto threads = static_cast<int>(std::min<std::int64_t>(compute_threads(), most));
#if PLIMSOLL_OPENMP
  if (threads > 1 && omp_in_parallel() == 0) {
    std::exception_ptr error;
    std::atomic_flag failed = ATOMIC_FLAG_INIT;
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t parts = omp_get_num_threads();
      const std::int64_t part = omp_get_thread_num();
      try {
        const std::int64_t first = count * part / parts;
        const std::int64_t last = count * (part + 1) / parts;
        if (first < last) body(first, last);
      } catch (...) {
        if (!failed.test_and_set()) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#endif
  (void)threads;
  body(0, count);
}

}  // namespace plimsoll
