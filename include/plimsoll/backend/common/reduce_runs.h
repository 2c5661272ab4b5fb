#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <plimsoll/base/shape.h>

namespace plimsoll::backend {

/// Neighbouring dimensions of a dense tensor that a reduction treats alike, as one.
struct ReduceRun {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  ///< in elements
  bool reduce = false;      ///< it runs over them; else it keeps them
};

/// The runs of a tensor, innermost first, without dimensions of one element; none for a tensor of
/// one.
inline std::vector<ReduceRun> reduce_runs(const Shape& shape,
                                          const std::vector<std::int64_t>& axes) {
  std::array<bool, kMaxRank> over{};
  for (const std::int64_t axis : axes) over[static_cast<std::size_t>(axis)] = true;
  std::vector<ReduceRun> runs;
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1) {
      const bool reduce = over[static_cast<std::size_t>(i)];
      if (!runs.empty() && runs.back().reduce == reduce) {
        runs.back().extent *= shape[i];
      } else {
        runs.push_back({shape[i], stride, reduce});
      }
    }
    stride *= shape[i];
  }
  return runs;
}

}  // namespace plimsoll::backend
