#pragma once

#include <cstdint>
#include <functional>

// Work shared among threads. There is one pool of threads in a process, made when it is first
// needed. Its threads wait for work by spinning only for as long as that has lately paid off and
// no other process wants the cores; then they sleep, and after some seconds without work they end.
// Nothing here depends on the environment or changes a setting of the process. In a child after
// fork() there is a new pool. Thread-safe.

namespace plimsoll {

/// Threads that parallel_for uses: those the process may run on, or what set_compute_threads said.
int compute_threads();

/// The most threads that set_compute_threads takes: four for each CPU this process may run on, and
/// at least 16.
int most_compute_threads();

/// Sets compute_threads(); 0 goes back to the default. Work is divided for that many threads; no
/// more of them run at a time than there are CPUs. Throws InvalidArgument for a negative number or
/// one above most_compute_threads().
void set_compute_threads(int threads);

/// Calls `body(first, last)` for pieces that cover [0, count), each at least `grain` long but for
/// the last, in several threads where that pays, and returns when all are done. Which pieces there
/// are depends on the number of threads: what must not depend on it is written per index. After an
/// exception pieces that have not begun are left out, and the first one is rethrown. Called from
/// within a piece it runs in the same thread.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

/// Calls `body(task, slot)` once for each task in [0, count), at most `threads` at a time, and
/// returns when all are done. Threads take the next task when they have finished one, so that a
/// thread that is late or interrupted holds up no task but its own. No two calls that run at a time
/// have the same slot, which is in [0, min(threads, count)). Exceptions and calls from within as
/// with parallel_for.
void parallel_tasks(std::int64_t count, int threads,
                    const std::function<void(std::int64_t task, int slot)>& body);

/// Whether the calling thread is within a piece or a task that several threads share.
bool in_parallel_task();

}  // namespace plimsoll
