#pragma once

#include <algorithm>
#include <cstdint>

// How work of the mathematical libraries is divided among threads. The libraries run in one thread
// each time they are called: their own threads would spin while they wait, and wait for a thread
// that another process keeps from its core. Divisions depend on shapes and the number of threads
// alone, so that the same bits come out however many of the threads turn up.

namespace plimsoll::cpu {

/// Multiplications that are worth a second thread.
inline constexpr std::int64_t kProductGrain = std::int64_t{1} << 17;
/// Rows, columns and channels are divided at multiples of this, which kernels work on at a time.
inline constexpr std::int64_t kDivisionBlock = 16;

/// Part `part` of `parts` of [0, extent), cut at multiples of `block`.
struct Part {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  static Part of(std::int64_t extent, std::int64_t part, std::int64_t parts,
                 std::int64_t block = 1) {
    const std::int64_t blocks = (extent + block - 1) / block;
    const std::int64_t begin = blocks * part / parts * block;
    return {begin, std::min(extent, blocks * (part + 1) / parts * block) - begin};
  }
};

/// The threads that so many multiplications are worth, at most `threads`.
int threads_for(std::int64_t multiplications, int threads);

/// Parts of a product's rows and of its columns.
struct ProductGrid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;

  std::int64_t parts() const { return rows * columns; }
  /// For c = a b with c of m times n and a of m times k. No sum is divided.
  static ProductGrid of(std::int64_t m, std::int64_t n, std::int64_t k, int threads);
};

/// What the work of this thread is divided for: 1 within a task, else what the innermost
/// ThreadsScope said, or compute_threads().
int division_threads();

/// Work of this thread is divided for `threads` threads until it goes out of scope.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads);
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;
  ~ThreadsScope();

 private:
  int before_;
};

/// Calls of libraries from this thread start no threads (of OpenMP) until it goes out of scope.
class LibraryScope {
 public:
  LibraryScope();
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;
  ~LibraryScope();

 private:
  int before_ = 1;
};

}  // namespace plimsoll::cpu
