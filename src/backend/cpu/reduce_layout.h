#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <plimsoll/backend/common/reduce_runs.h>

#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

/// Some dimensions of a dense tensor, adjacent ones joined, as a list of positions.
struct Positions {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<std::int64_t, kMaxRank> strides{};

  std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extents[static_cast<std::size_t>(i)];
    return product;
  }
  /// The offset in elements of position `index`, counted in row-major order.
  std::int64_t operator[](std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = rank - 1; i > 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      offset += index % extents[at] * strides[at];
      index /= extents[at];
    }
    return rank == 0 ? 0 : offset + index * strides[0];
  }
  void add(std::int64_t extent, std::int64_t stride) {
    extents[static_cast<std::size_t>(rank)] = extent;
    strides[static_cast<std::size_t>(rank)] = stride;
    ++rank;
  }
};

/// A tensor split into the dimensions that a reduction keeps and those it runs over. The innermost
/// run of elements that lie one after another is `inner` long and of one kind; it is in neither
/// list.
struct ReduceLayout {
  Positions kept;
  Positions reduced;
  std::int64_t inner = 1;
  bool inner_reduced = true;

  ReduceLayout(const Shape& shape, const std::vector<std::int64_t>& axes) {
    const std::vector<backend::ReduceRun> runs = backend::reduce_runs(shape, axes);
    if (runs.empty()) return;
    inner = runs.front().extent;
    inner_reduced = runs.front().reduce;
    for (auto run = runs.rbegin(); run + 1 != runs.rend(); ++run) {
      (run->reduce ? reduced : kept).add(run->extent, run->stride);
    }
  }
};

}  // namespace plimsoll::cpu
