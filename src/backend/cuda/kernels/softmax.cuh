#pragma once

#include <math_constants.h>

#include "backend/cuda/kernels/rows.cuh"

namespace plimsoll::cuda {

/// softmax(x) = exp(x - largest) / total.
template <typename A>
struct RowExp {
  A largest;
  A total;

  static __device__ __forceinline__ A none() {
    return sizeof(A) == 8 ? static_cast<A>(-CUDART_INF) : static_cast<A>(-CUDART_INF_F);
  }
  /// Takes exp(x - largest) of N more values in, whose largest may be a new one.
  template <int N>
  __device__ __forceinline__ void add(const A (&x)[N]) {
    A most = largest;
#pragma unroll
    for (int i = 0; i < N; ++i) most = Largest::of(most, x[i]);
    if (most > largest) {
      total = total == A(0) ? total : total * exp(largest - most);
      largest = most;
    }
    if (largest == none()) {
      // Nothing but minus infinities so far, which give 0, or NaN.
#pragma unroll
      for (int i = 0; i < N; ++i) total += x[i] == x[i] ? A(0) : x[i];
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) total += exp(x[i] - largest);
    }
  }
  /// The total as it is with a largest value at least this one's.
  __device__ __forceinline__ A total_for(A most) const {
    return largest == none() ? total : total * exp(largest - most);
  }
};

/// Of a row; everyone in the group has it. NaN anywhere gives a total of NaN, and so does plus
/// infinity; if all are minus infinity, that is the largest.
template <typename T, int V, int Items, int Group>
__device__ __forceinline__ RowExp<Acc<T>> row_exp(const Row<T, V, Items, Group>& row,
                                                  std::int64_t count) {
  using A = Acc<T>;
  RowExp<A> part{RowExp<A>::none(), A(0)};
  if constexpr (Items > 0) {
    for_vectors<V, Items, Group>(count, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) part.largest = Largest::of(part.largest, widen(x.lane[i]));
    });
    part.largest = group_reduce<Largest, Group>(part.largest);
    for_vectors<V, Items, Group>(count, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
#pragma unroll
      for (int i = 0; i < V; ++i) part.total += exp(widen(x.lane[i]) - part.largest);
    });
    part.total = group_sum<Group>(part.total);
    return part;
  } else {
    for_vectors<V, Items, Group>(count, [&](int item, std::int64_t at) {
      const auto x = row.get(item, at);
      A values[V];
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = widen(x.lane[i]);
      part.add(values);
    });
    RowExp<A> all;
    all.largest = group_reduce<Largest, Group>(part.largest);
    all.total = group_sum<Group>(part.total_for(all.largest));
    return all;
  }
}

}  // namespace plimsoll::cuda
