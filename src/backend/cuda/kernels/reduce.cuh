#pragma once

#include <cstdint>
#include <vector>

#include <plimsoll/backend/common/reduce_runs.h>

#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

// What reductions have in common: where the elements of an output lie, and how threads that work on
// one join what they have.

namespace plimsoll::cuda {

/// Some dimensions of a dense tensor as a list of positions, for device code. Any count.
struct Positions {
  int rank = 0;
  bool large = false;  ///< more positions than a Divider takes
  Divider divider[kMaxRank];
  std::int64_t extent[kMaxRank] = {};
  std::int64_t stride[kMaxRank] = {};

  void add(std::int64_t many, std::int64_t apart) {
    extent[rank] = many;
    stride[rank] = apart;
    ++rank;
    large = count() >= std::int64_t{1} << 31;
    for (int i = 0; i < rank; ++i) divider[i] = large ? Divider() : Divider(extent[i]);
  }
  __host__ __device__ std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extent[i];
    return product;
  }

  /// The offset in elements of position `i`, counted in row-major order.
  __device__ __forceinline__ std::int64_t at(std::int64_t i) const {
    if (rank <= 1) return rank == 0 ? 0 : i * stride[0];
    std::int64_t offset = 0;
    if (!large) {
      auto left = static_cast<std::uint32_t>(i);
      for (int d = rank - 1; d > 0; --d) {
        offset += static_cast<std::int64_t>(divider[d].divide(left)) * stride[d];
      }
      return offset + static_cast<std::int64_t>(left) * stride[0];
    }
    return at_large(i);
  }

 private:
  /// Apart, so that the usual case stays small.
  __device__ __noinline__ std::int64_t at_large(std::int64_t i) const {
    std::int64_t offset = 0;
    for (int d = rank - 1; d > 0; --d) {
      offset += i % extent[d] * stride[d];
      i /= extent[d];
    }
    return offset + i * stride[0];
  }
};

/// A tensor with elements split into the dimensions that a reduction keeps and those it runs over:
/// element i of output o is at kept.at(o) + reduced.at(i).
struct ReduceLayout {
  Positions kept;
  Positions reduced;
  std::int64_t inner = 1;     ///< elements one after another that are of one kind
  bool inner_reduced = true;  ///< which

  /// With `vector` above 1, which divides `inner`, that many elements of the inner run are one.
  ReduceLayout(const Shape& shape, const std::vector<std::int64_t>& axes, int vector = 1) {
    std::vector<backend::ReduceRun> runs = backend::reduce_runs(shape, axes);
    if (runs.empty()) return;
    inner = runs.front().extent;
    inner_reduced = runs.front().reduce;
    runs.front().extent /= vector;
    runs.front().stride *= vector;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      (run->reduce ? reduced : kept).add(run->extent, run->stride);
    }
  }
};

/// How many threads work on one output: one, a warp or a block. By shape alone.
inline int group_for(const ReduceLayout& layout) {
  const std::int64_t each = layout.reduced.count();
  if (layout.inner_reduced) return each <= 8 ? 1 : (each <= 1024 ? 32 : kThreads);
  // Neighbouring threads read neighbouring outputs, unless there are too few of them.
  return layout.kept.count() >= 4096 || each <= 64 ? 1 : kThreads;
}

/// A block's share of `outputs` under a grouping: the first, and how far the next is.
struct Groups {
  int group;
  int lane;
  std::int64_t first;
  std::int64_t step;

  __device__ explicit Groups(int threads)
      : group(threads),
        lane(static_cast<int>(threadIdx.x) % threads),
        first(static_cast<std::int64_t>(blockIdx.x) * (kThreads / threads) +
              static_cast<int>(threadIdx.x) / threads),
        step(static_cast<std::int64_t>(gridDim.x) * (kThreads / threads)) {}
};
inline unsigned blocks_of_groups(std::int64_t outputs, int group) {
  const std::int64_t per_block = kThreads / group;
  return static_cast<unsigned>(
      std::min<std::int64_t>((outputs + per_block - 1) / per_block, 1 << 30));
}

template <typename T>
__device__ __forceinline__ T from_lane(const T& mine, int distance) {
  return __shfl_xor_sync(0xffffffffU, mine, distance);
}

/// What all threads of a group have, joined in a fixed order; every thread gets it. `join` does not
/// care which of two comes first. `shared` has room for kThreads / 32. All threads of the block
/// come here where the group is the block.
template <typename T, typename Join>
__device__ __forceinline__ T joined(T mine, int group, T* shared, Join join) {
  if (group == 1) return mine;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    mine = join(mine, from_lane(mine, distance));
  }
  if (group == 32) return mine;
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = shared[0];
#pragma unroll
  for (int i = 1; i < kThreads / 32; ++i) mine = join(mine, shared[i]);
  __syncthreads();
  return mine;
}

}  // namespace plimsoll::cuda
