#include "backend/cpu/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <plimsoll/base/parallel.h>
#include <plimsoll/base/shape.h>

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kGrainBytes = 128 * 1024;

struct Dims {
  std::array<CopyDim, kMaxRank> dim;
  int rank = 0;

  const CopyDim& operator[](int i) const { return dim[static_cast<std::size_t>(i)]; }
  CopyDim& operator[](int i) { return dim[static_cast<std::size_t>(i)]; }
  const CopyDim& last() const { return (*this)[rank - 1]; }
};

/// Without dimensions of one element, neighbours that are one run joined.
Dims joined(std::span<const CopyDim> dims) {
  Dims result;
  for (const CopyDim& dim : dims) {
    if (dim.extent == 1) continue;
    if (result.rank > 0) {
      CopyDim& outer = result[result.rank - 1];
      if (outer.to == dim.to * dim.extent && outer.from == dim.from * dim.extent) {
        outer = {outer.extent * dim.extent, dim.to, dim.from};
        continue;
      }
    }
    result[result.rank++] = dim;
  }
  if (result.rank == 0) result[result.rank++] = {1, 1, 1};
  return result;
}

/// Walks over all dimensions but the last `inner` ones.
class Walk {
 public:
  Walk(const Dims& dims, int outer, std::int64_t index) : dims_(dims), outer_(outer) {
    for (int i = outer_ - 1; i >= 0; --i) {
      const std::int64_t here = index % dims_[i].extent;
      index /= dims_[i].extent;
      at_[static_cast<std::size_t>(i)] = here;
      to_ += here * dims_[i].to;
      from_ += here * dims_[i].from;
    }
  }
  std::int64_t to() const { return to_; }
  std::int64_t from() const { return from_; }
  void next() {
    for (int i = outer_ - 1; i >= 0; --i) {
      std::int64_t& here = at_[static_cast<std::size_t>(i)];
      to_ += dims_[i].to;
      from_ += dims_[i].from;
      if (++here < dims_[i].extent) return;
      to_ -= here * dims_[i].to;
      from_ -= here * dims_[i].from;
      here = 0;
    }
  }

 private:
  const Dims& dims_;
  int outer_;
  std::array<std::int64_t, kMaxRank> at_{};
  std::int64_t to_ = 0;
  std::int64_t from_ = 0;
};

std::int64_t count_of(const Dims& dims, int outer) {
  std::int64_t count = 1;
  for (int i = 0; i < outer; ++i) count *= dims[i].extent;
  return count;
}

template <typename T>
void copy_run(T* to, const T* from, std::int64_t count, const CopyDim& dim) {
  if (dim.to == 1 && dim.from == 1) {
    if (count < 8) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    }
  } else if (dim.to == 1 && dim.from == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * dim.to] = from[i * dim.from];
  }
}

template <typename T>
void copy_rows(T* to, const T* from, const Dims& dims) {
  const CopyDim inner = dims.last();
  const int outer = dims.rank - 1;
  const std::int64_t total = count_of(dims, dims.rank);
  parallel_for(total, kGrainBytes / static_cast<std::int64_t>(sizeof(T)),
               [&](std::int64_t first, std::int64_t last) {
                 Walk row(dims, outer, first / inner.extent);
                 std::int64_t column = first % inner.extent;
                 while (first < last) {
                   const std::int64_t count = std::min(inner.extent - column, last - first);
                   copy_run(to + row.to() + column * inner.to,
                            from + row.from() + column * inner.from, count, inner);
                   first += count;
                   column = 0;
                   row.next();
                 }
               });
}

/// Four rows of four, from `from` with rows `rows` apart, to `to` as four columns.
using Four = std::uint32_t __attribute__((vector_size(16)));

void transpose_four(std::uint32_t* to, std::int64_t columns, const std::uint32_t* from,
                    std::int64_t rows) {
  Four a;
  Four b;
  Four c;
  Four d;
  std::memcpy(&a, from, 16);
  std::memcpy(&b, from + rows, 16);
  std::memcpy(&c, from + 2 * rows, 16);
  std::memcpy(&d, from + 3 * rows, 16);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four r0 = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  const Four r1 = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  const Four r2 = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  const Four r3 = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  std::memcpy(to, &r0, 16);
  std::memcpy(to + columns, &r1, 16);
  std::memcpy(to + 2 * columns, &r2, 16);
  std::memcpy(to + 3 * columns, &r3, 16);
}

/// to[i * columns + k] = from[i + k * rows] for i < height, k < width: a tile that the caches hold.
template <typename T>
void transpose_tile(T* to, std::int64_t columns, const T* from, std::int64_t rows,
                    std::int64_t height, std::int64_t width) {
  std::int64_t k = 0;
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    for (; k + 4 <= width; k += 4) {
      std::int64_t i = 0;
      for (; i + 4 <= height; i += 4) {
        transpose_four(to + i * columns + k, columns, from + i + k * rows, rows);
      }
      for (; i < height; ++i) {
        for (std::int64_t j = k; j < k + 4; ++j) to[i * columns + j] = from[i + j * rows];
      }
    }
  }
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = k; j < width; ++j) to[i * columns + j] = from[i + j * rows];
  }
}

constexpr std::int64_t kTile = 16;
constexpr std::int64_t kBand = 64;

/// The last dimension is dense in `to`, the one before it in `from`.
template <typename T>
void copy_tiles(T* to, const T* from, const Dims& dims) {
  const CopyDim tall = dims[dims.rank - 2];
  const CopyDim wide = dims.last();
  const int outer = dims.rank - 2;
  const std::int64_t bands = (tall.extent + kBand - 1) / kBand;
  const std::int64_t band_bytes =
      std::min(kBand, tall.extent) * wide.extent * static_cast<std::int64_t>(sizeof(T));
  parallel_for(count_of(dims, outer) * bands, std::max<std::int64_t>(1, kGrainBytes / band_bytes),
               [&](std::int64_t first, std::int64_t last) {
                 Walk matrix(dims, outer, first / bands);
                 for (std::int64_t at = first; at < last; ++at) {
                   if (at != first && at % bands == 0) matrix.next();
                   const std::int64_t begin = at % bands * kBand;
                   const std::int64_t end = std::min(tall.extent, begin + kBand);
                   for (std::int64_t k = 0; k < wide.extent; k += kTile) {
                     for (std::int64_t i = begin; i < end; i += kTile) {
                       transpose_tile(to + matrix.to() + i * tall.to + k, tall.to,
                                      from + matrix.from() + i + k * wide.from, wide.from,
                                      std::min(kTile, end - i), std::min(kTile, wide.extent - k));
                     }
                   }
                 }
               });
}

template <typename T>
void copy_typed(void* to, const void* from, Dims dims) {
  if (dims.last().to == 1 && dims.last().from > 1) {
    for (int i = 0; i < dims.rank - 1; ++i) {
      if (dims[i].from != 1 || dims[i].extent < 4) continue;
      std::rotate(&dims[i], &dims[i] + 1, &dims[dims.rank - 1]);
      return copy_tiles(static_cast<T*>(to), static_cast<const T*>(from), dims);
    }
  }
  copy_rows(static_cast<T*>(to), static_cast<const T*>(from), dims);
}

}  // namespace

void copy_strided(void* to, const void* from, std::size_t size, std::span<const CopyDim> dims) {
  for (const CopyDim& dim : dims) {
    if (dim.extent == 0) return;
  }
  const Dims run = joined(dims);
  switch (size) {
    case 1:
      return copy_typed<std::uint8_t>(to, from, run);
    case 2:
      return copy_typed<std::uint16_t>(to, from, run);
    case 4:
      return copy_typed<std::uint32_t>(to, from, run);
    default:
      return copy_typed<std::uint64_t>(to, from, run);
  }
}

}  // namespace plimsoll::cpu
