#pragma once

#include "backend/cuda/kernels/batch_norm.cuh"

namespace plimsoll::cuda {

/// The mean of each channel in this block's chunk of rows and the sum of squared distances from it,
/// into parts: [chunks, 2, channels].
///
/// A thread adds up distances from its own first row, so that nothing is lost where a mean is large
/// beside its spread, and squares of those; then lanes are merged.
template <typename T, int V>
__device__ __forceinline__ void chunk_spreads(Acc<T>* parts, const T* x, const Batch& b) {
  using A = Acc<T>;
  constexpr int kLoads = 8;
  const BatchThread<V> t(b);
  const LaneRows rows_of(t.end - t.begin, b.lanes);
  const std::int64_t rows = t.here ? rows_of(t.lane) : 0;
  A from[V] = {};
  A sum[V] = {};
  A squares[V] = {};
  if (rows > 0) {
    const Vec<T, V> first = load_vec<V>(x + b.at(t.begin + t.lane, t.channel));
#pragma unroll
    for (int i = 0; i < V; ++i) from[i] = widen(first.lane[i]);
  }
  Vec<T, V> held[kLoads];
  t.template for_rows<kLoads>(
      b, [&](int j, std::int64_t at) { held[j] = load_vec<V>(x + at); },
      [&](int j, std::int64_t) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A off = widen(held[j].lane[i]) - from[i];
          sum[i] += off;
          squares[i] += off * off;
        }
      });
  const A share = rows > 0 ? A(1) / static_cast<A>(rows) : A(0);
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const A off = sum[i] * share;
    const A left = squares[i] - sum[i] * off;
    squares[i] = left < A(0) ? A(0) : left;  // NaN stays
    sum[i] = from[i] + off;
  }

  __shared__ BlockParts<A, V> lanes;
  lanes.put(t, sum, squares);
  lanes.each(b, [&](std::int64_t channel, int at, int apart) {
    const A least = lanes.first[at];
    A off = 0;
    for (int i = 1; i < b.lanes; ++i) {
      off += static_cast<A>(rows_of(i)) * (lanes.first[at + i * apart] - least);
    }
    const A mean = least + off / static_cast<A>(t.end - t.begin);
    A all = 0;
    for (int i = 0; i < b.lanes; ++i) {
      const A far = lanes.first[at + i * apart] - mean;
      const auto count = static_cast<A>(rows_of(i));
      if (count > A(0)) all += lanes.second[at + i * apart] + count * far * far;
    }
    A* part = parts + static_cast<std::int64_t>(blockIdx.y) * 2 * b.channels + channel;
    part[0] = mean;
    part[b.channels] = all;
  });
}

}  // namespace plimsoll::cuda
