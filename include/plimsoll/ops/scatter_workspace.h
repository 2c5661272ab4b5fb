#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>

namespace plimsoll::ops {

/// The scratch of scatter_add on a GPU: for sorting the positions by the index they name.
struct ScatterWorkspace {
  Bytes per_position;  ///< of each of four arrays
  Bytes per_index;     ///< of one
  Bytes sorting;       ///< what the sort asks for, at most

  static constexpr ScatterWorkspace of(std::int64_t positions, std::int64_t extent) {
    constexpr auto rounded = [](std::int64_t bytes) {
      return (static_cast<Bytes>(bytes) + 255) / 256 * 256;
    };
    return {rounded(4 * positions), rounded(4 * (extent + 1)), rounded(positions) + MiB(1)};
  }
  constexpr Bytes total() const { return 4 * per_position + per_index + sorting; }
};

}  // namespace plimsoll::ops
