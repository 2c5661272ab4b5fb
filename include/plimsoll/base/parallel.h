#pragma once

#include <cstdint>
#include <functional>

namespace plimsoll {

/// Threads that parallel_for uses: those the process may run on, or what set_compute_threads said.
int compute_threads();
/// 0 goes back to the default. Also tells the mathematical libraries.
void set_compute_threads(int threads);

/// Calls `body(first, last)` for pieces that cover [0, count), each at least `grain` long but for
/// the last, in several threads where that pays, and returns when all are done. Which pieces there
/// are depends on the number of threads: what must not depend on it is written per index. The
/// first exception is rethrown. Called from within a piece it runs in the same thread.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace plimsoll
