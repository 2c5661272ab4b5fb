#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <plimsoll/backend/common/around.h>
#include <plimsoll/base/shape.h>

// Ops that move elements and compute nothing: each says here where they go, and a backend moves
// them.

namespace plimsoll::backend {

/// One dimension of a copy, outermost first: how many elements, and how far apart they are, in
/// elements. `from` may be 0: the same element again.
struct CopyDim {
  std::int64_t extent = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// Elements of one array to places in another.
struct StridedMove {
  std::array<CopyDim, kMaxRank> dims = {};
  int rank = 0;
  std::int64_t to = 0;    ///< the first element there
  std::int64_t from = 0;  ///< and here

  void add(const CopyDim& dim) { dims[static_cast<std::size_t>(rank++)] = dim; }
  std::span<const CopyDim> all() const { return {dims.data(), static_cast<std::size_t>(rank)}; }
};

inline StridedMove broadcast_move(const Shape& from, const Shape& to) {
  const auto from_strides = from.contiguous_strides();
  const auto to_strides = to.contiguous_strides();
  const int extra = to.rank() - from.rank();
  StridedMove move;
  for (int i = 0; i < to.rank(); ++i) {
    const bool repeated = i < extra || from[i - extra] == 1;
    move.add({to[i], to_strides[static_cast<std::size_t>(i)],
              repeated ? 0 : from_strides[static_cast<std::size_t>(i - extra)]});
  }
  return move;
}

inline StridedMove transpose_move(const Shape& from, const Shape& to,
                                  const std::vector<std::int64_t>& order) {
  const auto from_strides = from.contiguous_strides();
  const auto to_strides = to.contiguous_strides();
  StridedMove move;
  for (int i = 0; i < to.rank(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    move.add({to[i], to_strides[d], from_strides[static_cast<std::size_t>(order[d])]});
  }
  return move;
}

/// A part with `run` elements in each row of a whole, from `offset` on: into the whole (concat), or
/// out of it (split).
inline StridedMove part_move(const Around& whole, std::int64_t run, std::int64_t offset,
                             bool into) {
  const std::int64_t row = whole.extent * whole.inner;
  StridedMove move;
  move.add({whole.outer, into ? row : run, into ? run : row});
  move.add({run, 1, 1});
  (into ? move.to : move.from) = offset;
  return move;
}

/// What of `from` is within `to`; less than nothing before or after leaves elements out.
inline StridedMove pad_move(const Shape& from, const Shape& to,
                            const std::vector<std::int64_t>& before,
                            const std::vector<std::int64_t>& after) {
  const auto from_strides = from.contiguous_strides();
  const auto to_strides = to.contiguous_strides();
  StridedMove move;
  for (int i = 0; i < to.rank(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    const std::int64_t lead = std::max<std::int64_t>(before[d], 0);
    move.add({to[i] - lead - std::max<std::int64_t>(after[d], 0), to_strides[d], from_strides[d]});
    move.to += lead * to_strides[d];
    move.from += std::max<std::int64_t>(-before[d], 0) * from_strides[d];
  }
  return move;
}

/// Elements of `whole` from `begin` on by `step`, along an axis: out of it, or into it.
inline StridedMove slice_move(const Shape& whole, const Shape& part, std::int64_t axis,
                              std::int64_t begin, std::int64_t step, bool into) {
  const Around at = around(whole, axis);
  const std::int64_t inner = at.extent == 0 ? 0 : at.inner;
  const std::int64_t count = part[static_cast<int>(axis)];
  StridedMove move;
  const auto add = [&](std::int64_t extent, std::int64_t in_whole, std::int64_t in_part) {
    move.add({extent, into ? in_whole : in_part, into ? in_part : in_whole});
  };
  add(at.outer, at.extent * at.inner, count * inner);
  // The stride of a single element is never used and could overflow.
  add(count, count == 1 ? inner : step * inner, inner);
  add(inner, 1, 1);
  (into ? move.to : move.from) = begin * inner;
  return move;
}

}  // namespace plimsoll::backend
