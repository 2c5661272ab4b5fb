#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>

namespace plimsoll::train {

/// What graphs, their planning, their plans and executors take of the process's own heap, as a
/// bound by the number of nodes, so that plans are the same everywhere; less what every training
/// run on the CPU may take beside its budget. Convolutions, which are among the nodes, also take
/// the code that a library makes for each. Counted on the CPU, whose budget is for everything that
/// the process takes: 0 for graphs of up to 512 nodes without convolutions.
Bytes charged_heap(std::int64_t nodes, std::int64_t convolutions);

/// Plans are made while one is there. When it goes, free memory of the heap goes back to the
/// system: what a planner had is of no use to the steps that follow. For a device in the host's
/// memory, whose budget is for all that the process takes, the code that planned goes as well, and
/// from then on large blocks that are freed go back to the system at once.
class HeapScope {
 public:
  explicit HeapScope(bool host_memory);
  HeapScope(const HeapScope&) = delete;
  HeapScope& operator=(const HeapScope&) = delete;
  ~HeapScope();

 private:
  bool host_memory_;
};

}  // namespace plimsoll::train
