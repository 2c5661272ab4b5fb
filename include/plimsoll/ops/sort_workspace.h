#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>

namespace plimsoll::ops {

/// Elements that a block of a GPU sorts at once.
inline constexpr std::int64_t kSortTile = 1024;

/// Scratch bytes of `sort` on a GPU for `elements` in rows of `extent`: where a row is longer than
/// a tile, sorted pieces are merged from one array of places to another and back.
constexpr Bytes sort_workspace(std::int64_t elements, std::int64_t extent) {
  return extent > kSortTile ? static_cast<Bytes>(elements) * sizeof(std::int64_t) : 0;
}

}  // namespace plimsoll::ops
