#pragma once

#include "backend/cuda/kernels/rows.cuh"

// The second stage of sums over rows: partial sums [parts, columns] to one row.

namespace plimsoll::cuda {

/// Where sums go, in the dtype T of what they belong to or in Acc<T>; null: nowhere.
struct SumsTo {
  void* data = nullptr;
  bool wide = false;
};
inline SumsTo sums_to(const ops::TensorView& view, DType dtype) {
  return {view.data, view.dtype() != dtype};
}

template <typename T>
__device__ __forceinline__ void store_sum(const SumsTo& to, std::int64_t at, Acc<T> value) {
  if (to.data == nullptr) return;
  if (is_narrow_v<T> && !to.wide) {
    static_cast<T*>(to.data)[at] = narrow<T>(value);
  } else {
    static_cast<Acc<T>*>(to.data)[at] = value;
  }
}

inline constexpr int kSumColumns = 32;
inline constexpr int kSumLanes = 8;

/// The sum over the lanes (threadIdx.y) of a block of kSumColumns x kSumLanes, in lane 0.
template <typename A>
__device__ __forceinline__ A sum_of_lanes(A value) {
  __shared__ A shared[kSumLanes][kSumColumns + 1];
  shared[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  A sum = shared[0][threadIdx.x];
#pragma unroll
  for (int i = 1; i < kSumLanes; ++i) sum += shared[i][threadIdx.x];
  __syncthreads();
  return sum;
}

/// first[i] and second[i] from partial sums [parts, 2, columns].
template <typename T>
__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    sum_parts(SumsTo first, SumsTo second, const Acc<T>* parts, int count, std::int64_t columns) {
  using A = Acc<T>;
  const std::int64_t all = 2 * columns;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  A sum = 0;
  if (at < all) {
    // A multiprocessor's part each is what there usually is: loads that are all on their way before
    // the first is waited for.
    constexpr int U = (132 + kSumLanes - 1) / kSumLanes;
    for (int first = threadIdx.y; first < count; first += U * kSumLanes) {
      A held[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const int part = first + u * kSumLanes;
        held[u] = part < count ? parts[part * all + at] : A(0);
      }
#pragma unroll
      for (int u = 0; u < U; ++u) sum += held[u];
    }
  }
  sum = sum_of_lanes(sum);
  if (threadIdx.y != 0 || at >= all) return;
  if (at < columns) {
    store_sum<T>(first, at, sum);
  } else {
    store_sum<T>(second, at - columns, sum);
  }
}

template <typename T>
void launch_sum_parts(SumsTo first, SumsTo second, const Acc<T>* parts, int count,
                      std::int64_t columns, cudaStream_t queue) {
  const auto blocks = static_cast<unsigned>((2 * columns + kSumColumns - 1) / kSumColumns);
  sum_parts<T>
      <<<blocks, dim3(kSumColumns, kSumLanes), 0, queue>>>(first, second, parts, count, columns);
}

}  // namespace plimsoll::cuda
