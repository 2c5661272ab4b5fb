#include "backend/cpu/division.h"

#include <utility>

#include <plimsoll/base/parallel.h>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace plimsoll::cpu {
namespace {

thread_local int scope_threads = 0;

/// Bringing an element of an operand into a library's blocks costs about as much as so many
/// multiplications.
constexpr std::int64_t kPacking = 8;

}  // namespace

int threads_for(std::int64_t multiplications, int threads) {
  const std::int64_t worth = multiplications / kProductGrain;
  return static_cast<int>(std::clamp<std::int64_t>(worth, 1, threads));
}

ProductGrid ProductGrid::of(std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  // As a real number: extents of 2^31 are possible.
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  threads = threads_for(static_cast<std::int64_t>(std::min(work, 0x1p60)), threads);
  ProductGrid best;
  double least = 0;
  for (std::int64_t rows = 1; rows <= threads; ++rows) {
    const ProductGrid grid{rows, threads / rows};
    if ((grid.rows - 1) * kDivisionBlock >= m || (grid.columns - 1) * kDivisionBlock >= n) continue;
    // Of the last part, as the largest are.
    const auto height = static_cast<double>(Part::of(m, rows - 1, rows, kDivisionBlock).size);
    const auto width =
        static_cast<double>(Part::of(n, grid.columns - 1, grid.columns, kDivisionBlock).size);
    const double cost = height * width + kPacking * (height + width);
    if (least == 0 || cost < least) {
      best = grid;
      least = cost;
    }
  }
  return best;
}

int division_threads() {
  if (in_parallel_task()) return 1;
  return scope_threads > 0 ? scope_threads : compute_threads();
}

ThreadsScope::ThreadsScope(int threads) : before_(std::exchange(scope_threads, threads)) {}
ThreadsScope::~ThreadsScope() { scope_threads = before_; }

#ifdef _OPENMP
// The number belongs to the calling thread, in OpenMP.
LibraryScope::LibraryScope() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
LibraryScope::~LibraryScope() {
  if (before_ != 1) omp_set_num_threads(before_);
}
#else
LibraryScope::LibraryScope() = default;
LibraryScope::~LibraryScope() = default;
#endif

}  // namespace plimsoll::cpu
