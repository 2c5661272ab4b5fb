#pragma once

#include <cstdint>

#include <plimsoll/backend/common/around.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/split.cuh"

namespace plimsoll::cuda {

using backend::Around;
using backend::around;

/// i64 or i32.
struct Indices {
  const void* data;
  bool wide;

  __device__ __forceinline__ std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
};
inline Indices indices_of(const TensorView& view) {
  return {view.data, view.dtype() == DType::i64};
}

/// How ids are grouped: `size` of them in a row share a gradient, and some are padding.
struct Bags {
  std::int64_t size = 1;
  bool padded = false;
  std::int64_t padding_id = 0;

  /// Those of an op with the attribute "padding_id"; without it every id stands alone.
  static Bags of(const ops::Attributes& attributes, const Shape& ids) {
    if (!attributes.has("padding_id")) return {};
    const std::int64_t padding = attributes.integer("padding_id");
    return {ids.dim(-1), padding >= 0, padding};
  }
  __device__ __forceinline__ bool skips(std::int64_t id) const {
    return padded && id == padding_id;
  }
  /// The bag that position `i` is in.
  __device__ __forceinline__ std::int64_t bag(std::int64_t i) const {
    return size == 1 ? i : split(i, size).quotient;
  }
};

/// The threads of a warp that work on one row: a power of two of them.
struct Lanes {
  int count;
  int shift;  ///< 2^shift == count

  static Lanes of(std::int64_t vectors) {
    Lanes lanes{1, 0};
    while (lanes.count < 32 && lanes.count < vectors) {
      lanes.count *= 2;
      ++lanes.shift;
    }
    return lanes;
  }
  __device__ __forceinline__ int lane() const {
    return static_cast<int>(threadIdx.x) & (count - 1);
  }
  /// Those of this thread's row among the warp's.
  __device__ __forceinline__ unsigned mask() const {
    const unsigned all = count == 32 ? ~0U : (1U << count) - 1;
    return all << ((threadIdx.x & 31U) & ~static_cast<unsigned>(count - 1));
  }
  __device__ __forceinline__ std::int64_t first() const {
    return (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> shift;
  }
  __device__ __forceinline__ std::int64_t stride() const {
    return static_cast<std::int64_t>(gridDim.x) * (kThreads >> shift);
  }
  unsigned blocks(std::int64_t rows) const { return blocks_for(rows * count); }
};

}  // namespace plimsoll::cuda
