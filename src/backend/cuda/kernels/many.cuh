#pragma once

#include <cstdint>

// Many small tensors in one launch: a table of them as the kernel's parameter, each the work of
// some blocks in a row.

namespace plimsoll::cuda {

template <typename Entry, int Most>
struct Many {
  Entry entries[Most];
  std::uint32_t first[Most + 1];  ///< block of each, and after the last how many there are
  int count = 0;

  bool full() const { return count == Most; }
  unsigned blocks() const { return first[count]; }
  void add(const Entry& entry, unsigned blocks) {
    if (count == 0) first[0] = 0;
    entries[count] = entry;
    first[count + 1] = first[count] + blocks;
    ++count;
  }

  /// Whose block this is.
  __device__ __forceinline__ int find(std::uint32_t block) const {
    int low = 0;
    int high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (first[middle] <= block) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace plimsoll::cuda
