#pragma once

#include "backend/cuda/kernels/rows.cuh"

namespace plimsoll::cuda {

/// What a row is normalised by.
template <typename A>
struct RowScale {
  A mean = 0;
  A inverse = 0;
};

/// 1 / sqrt(mean of squares + epsilon)
template <typename A>
__device__ __forceinline__ A inverse_root(A squares, A share, A epsilon) {
  return A(1) / sqrt(rounded::fma(squares, share, epsilon));
}

/// An element of a row, normalised.
template <typename A>
__device__ __forceinline__ A normalised(A x, const RowScale<A>& s) {
  return rounded::mul(rounded::sub(x, s.mean), s.inverse);
}

/// Of layer_norm if `centered`, else of rms_norm. Everyone in the group has it.
template <typename T, int V, int Items, int Group>
__device__ __forceinline__ RowScale<Acc<T>> row_scale(const Row<T, V, Items, Group>& row,
                                                      std::int64_t features, Acc<T> epsilon,
                                                      bool centered) {
  using A = Acc<T>;
  const A share = A(1) / static_cast<A>(features);
  RowScale<A> result;
  if (centered) {
    A sum = 0;
    for_vectors<V, Items, Group>(features, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) sum += widen(x.lane[i]);
    });
    result.mean = rounded::mul(group_sum<Group>(sum), share);
  }
  A squares = 0;
  for_vectors<V, Items, Group>(features, [&](int item, std::int64_t at) {
    const auto x = row.get(item, at);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const A off = rounded::sub(widen(x.lane[i]), result.mean);
      squares = rounded::fma(off, off, squares);
    }
  });
  result.inverse = inverse_root(group_sum<Group>(squares), share, epsilon);
  return result;
}

}  // namespace plimsoll::cuda
