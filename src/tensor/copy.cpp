#include "tensor/copy.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace plimsoll {
namespace {

/// Dimensions that both sides walk through, outermost first, strides in bytes.
struct Walk {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> extent{};
  std::array<std::int64_t, kMaxRank> to{};
  std::array<std::int64_t, kMaxRank> from{};
};

/// Leaves out extents of 1 and joins dimensions that are one on both sides.
Walk make_walk(const Shape& shape, Bytes item, const StridedPlace& to, const StridedPlace& from) {
  Walk walk;
  const auto size = static_cast<std::int64_t>(item);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t to_stride = to.strides[at] * size;
    const std::int64_t from_stride = from.strides[at] * size;
    if (walk.rank > 0) {
      const auto last = static_cast<std::size_t>(walk.rank - 1);
      if (walk.to[last] == to_stride * shape[i] && walk.from[last] == from_stride * shape[i]) {
        walk.extent[last] *= shape[i];
        walk.to[last] = to_stride;
        walk.from[last] = from_stride;
        continue;
      }
    }
    const auto next = static_cast<std::size_t>(walk.rank++);
    walk.extent[next] = shape[i];
    walk.to[next] = to_stride;
    walk.from[next] = from_stride;
  }
  return walk;
}

/// Calls `inner` for each index of all dimensions but the last `inner_rank`.
template <typename Inner>
void for_each_outer(const Walk& walk, int outer_rank, std::byte* to, const std::byte* from,
                    Inner inner) {
  std::array<std::int64_t, kMaxRank> index{};
  while (true) {
    inner(to, from);
    int d = outer_rank - 1;
    for (; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      to += walk.to[at];
      from += walk.from[at];
      if (++index[at] < walk.extent[at]) break;
      to -= walk.to[at] * walk.extent[at];
      from -= walk.from[at] * walk.extent[at];
      index[at] = 0;
    }
    if (d < 0) return;
  }
}

template <std::size_t Item>
void copy_scattered(std::byte* to, std::int64_t to_stride, const std::byte* from,
                    std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, Item);
  }
}

using ScatteredCopy = void (*)(std::byte*, std::int64_t, const std::byte*, std::int64_t,
                               std::int64_t);

ScatteredCopy scattered_copy(Bytes item) {
  switch (item) {
    case 1:
      return copy_scattered<1>;
    case 2:
      return copy_scattered<2>;
    case 4:
      return copy_scattered<4>;
    default:
      return copy_scattered<8>;
  }
}

/// Whether the device could copy in one go.
bool copied_within(const Mover& mover, const Walk& walk, Bytes item, const StridedPlace& to,
                   const StridedPlace& from) {
  std::array<StridedDim, kMaxRank> dims;
  const auto rank = static_cast<std::size_t>(walk.rank);
  for (std::size_t i = 0; i < rank; ++i) dims[i] = {walk.extent[i], walk.to[i], walk.from[i]};
  return mover.device->copy_strided(to.data, from.data, item, {dims.data(), rank}, mover.stream);
}

}  // namespace

void copy_strided(const Mover& mover, const Shape& shape, Bytes item, StridedPlace to,
                  StridedPlace from) {
  if (shape.elements() == 0) return;
  const Walk walk = make_walk(shape, item, to, from);
  auto* to_data = static_cast<std::byte*>(to.data);
  const auto* from_data = static_cast<const std::byte*>(from.data);
  const auto size = static_cast<std::int64_t>(item);
  const auto last = static_cast<std::size_t>(walk.rank == 0 ? 0 : walk.rank - 1);
  const bool dense = walk.rank > 0 && walk.to[last] == size && walk.from[last] == size;
  const Bytes run = dense ? item * static_cast<Bytes>(walk.extent[last]) : item;
  const int outer_rank = dense ? walk.rank - 1 : walk.rank;

  if (mover.device != nullptr) {
    if (mover.has_both && outer_rank > 0 && copied_within(mover, walk, item, to, from)) {
      return;
    }
    for_each_outer(walk, outer_rank, to_data, from_data, [&](std::byte* t, const std::byte* f) {
      mover.device->copy(t, f, run, mover.stream);
    });
  } else if (dense || walk.rank == 0) {
    for_each_outer(walk, outer_rank, to_data, from_data,
                   [&](std::byte* t, const std::byte* f) { std::memcpy(t, f, run); });
  } else {
    const ScatteredCopy copy = scattered_copy(item);
    for_each_outer(walk, walk.rank - 1, to_data, from_data, [&](std::byte* t, const std::byte* f) {
      copy(t, walk.to[last], f, walk.from[last], walk.extent[last]);
    });
  }
}

}  // namespace plimsoll
