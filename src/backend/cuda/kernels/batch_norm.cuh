#pragma once

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/rows.cuh"
#include "backend/cuda/kernels/split.cuh"

// What passes over a batch have in common. A pass is a grid of blocks: blockIdx.x tells the
// channels, blockIdx.y the chunk of the rows. In a block, threads are `across` vectors of V
// channels wide and `lanes` rows deep. How rows are cut is a function of the shape and the dtype.

namespace plimsoll::cuda {

/// [rows, channels] where channels are columns; else planes, [batch, channels, size] with rows
/// batch * size. Vectors lie along channels, so that those of planes have one element.
struct Batch {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t size = 1;
  bool columns = true;
  int across = 1;           ///< vectors in a block
  int lanes = 1;            ///< rows in a block
  std::int64_t blocks = 1;  ///< side by side
  int chunks = 1;           ///< of rows

  /// Where the element of `channel` in `row` is.
  __device__ __forceinline__ std::int64_t at(std::int64_t row, std::int64_t channel) const {
    if (columns) return row * channels + channel;
    const Split place = split(row, size);
    return (place.quotient * channels + channel) * size + place.remainder;
  }
  __host__ __device__ __forceinline__ std::int64_t begin(int chunk) const {
    return rows * chunk / chunks;
  }
};

inline constexpr int kBatchThreads = 256;
/// Rows that a thread has at least.
inline constexpr int kBatchRows = 4;
/// Blocks that run at a time on a multiprocessor. As many as that take part, so that none waits
/// for others, and what each does once is done rarely.
inline constexpr int kBatchResident = 3;

/// Elements in a vector.
inline int batch_vector(const Shape& shape, DType dtype, bool channels_last) {
  const int whole = static_cast<int>(16 / dtype_size(dtype));
  return channels_last && dtype != DType::f64 && shape.dim(-1) % whole == 0 ? whole : 1;
}

inline Batch batch_of(const Shape& shape, DType dtype, bool channels_last) {
  Batch b;
  b.columns = channels_last;
  if (channels_last) {
    b.channels = shape.dim(-1);
    b.rows = 1;
    for (int i = 0; i < shape.rank() - 1; ++i) b.rows *= shape[i];
  } else {
    b.channels = shape[1];
    b.size = shape.rank() == 2 ? 1 : shape[2] * shape[3];
    b.rows = shape[0] * b.size;
  }
  const std::int64_t vectors = b.channels / batch_vector(shape, dtype, channels_last);
  b.across = channels_last ? static_cast<int>(std::clamp<std::int64_t>(vectors, 1, 32)) : 1;
  b.lanes = kBatchThreads / b.across;
  b.blocks = (vectors + b.across - 1) / b.across;
  constexpr std::int64_t kBlocks = 132 * kBatchResident;
  b.chunks = static_cast<int>(std::clamp<std::int64_t>(
      std::min(kBlocks / std::max<std::int64_t>(b.blocks, 1), b.rows / (b.lanes * kBatchRows)), 1,
      kBlocks));
  return b;
}
inline Batch batch_of(const KernelContext& k) {
  return batch_of(k.in(0).shape(), k.in(0).dtype(), k.attributes.flag("channels_last"));
}

/// body<T, V>()
template <typename Body>
void with_batch(const KernelContext& k, Body&& body) {
  const bool last = k.attributes.flag("channels_last");
  const bool whole = batch_vector(k.in(0).shape(), k.in(0).dtype(), last) > 1;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    if constexpr (sizeof(T) < 8) {
      if (whole) return body.template operator()<T, kVector<T>>();
    }
    body.template operator()<T, 1>();
  });
}

inline dim3 grid_of(const Batch& b) {
  return {static_cast<unsigned>(b.blocks), static_cast<unsigned>(b.chunks)};
}

/// This thread's place in its block's pass.
template <int V>
struct BatchThread {
  int lane;
  std::int64_t channel;  ///< the first of V
  std::int64_t begin;    ///< rows of the chunk
  std::int64_t end;
  bool here;  ///< whether it has any channel

  __device__ __forceinline__ explicit BatchThread(const Batch& b) {
    const int thread = static_cast<int>(threadIdx.x);
    lane = thread / b.across;
    channel = (static_cast<std::int64_t>(blockIdx.x) * b.across + thread % b.across) * V;
    begin = b.begin(static_cast<int>(blockIdx.y));
    end = b.begin(static_cast<int>(blockIdx.y) + 1);
    here = lane < b.lanes && channel < b.channels;
  }

  /// load(j, offset) for up to Loads rows of this thread, then use(j, offset) for the same ones,
  /// and so on through its rows, whose order has nothing to do with Loads.
  template <int Loads, typename Load, typename Use>
  __device__ __forceinline__ void for_rows(const Batch& b, Load load, Use use) const {
    if (!here) return;
    const std::int64_t step = static_cast<std::int64_t>(b.lanes) * b.channels;
    std::int64_t row = begin + lane;
    for (; row + (Loads - 1) * b.lanes < end; row += Loads * b.lanes) {
      const std::int64_t base = row * b.channels + channel;
      const auto at = [&](int j) {
        return V > 1 ? base + j * step : b.at(row + j * b.lanes, channel);
      };
#pragma unroll
      for (int j = 0; j < Loads; ++j) load(j, at(j));
#pragma unroll
      for (int j = 0; j < Loads; ++j) use(j, at(j));
    }
#pragma unroll 1
    for (; row < end; row += b.lanes) {
      const std::int64_t at = V > 1 ? row * b.channels + channel : b.at(row, channel);
      load(0, at);
      use(0, at);
    }
  }
};

/// How many rows of a chunk each lane has.
struct LaneRows {
  std::int64_t least;
  std::int64_t more;  ///< lanes with one more

  __device__ __forceinline__ LaneRows(std::int64_t rows, int lanes) {
    const Split each = split(rows, lanes);
    least = each.quotient;
    more = each.remainder;
  }
  __device__ __forceinline__ std::int64_t operator()(int lane) const {
    return least + (lane < more ? 1 : 0);
  }
};

/// Two numbers of each lane and channel of a block, and what is made of those of a channel.
template <typename A, int V>
struct BlockParts {
  A first[kBatchThreads * V];
  A second[kBatchThreads * V];

  __device__ __forceinline__ void put(const BatchThread<V>& t, const A (&a)[V], const A (&c)[V]) {
    if (t.here) {
      const int at = static_cast<int>(threadIdx.x) * V;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        first[at + i] = a[i];
        second[at + i] = c[i];
      }
    }
    __syncthreads();
  }

  /// f(channel, place of its first lane, distance between lanes) for each channel of the block.
  template <typename F>
  __device__ __forceinline__ void each(const Batch& b, F f) const {
    const int columns = b.across * V;
    const std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * columns;
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += kBatchThreads) {
      if (left + c < b.channels) f(left + c, c, columns);
    }
  }
};

/// Blocks that join the parts of all chunks have a thread for each of a few channels and lanes.
inline constexpr int kJoinChannels = 8;
inline constexpr int kJoinLanes = 64;

inline unsigned join_blocks(const Batch& b) {
  return static_cast<unsigned>((b.channels + kJoinChannels - 1) / kJoinChannels);
}

/// What a channel is multiplied by. The same bits in every kernel, as are the following.
template <typename A>
__device__ __forceinline__ A batch_factor(A scale, A variance, A epsilon) {
  return rounded::mul(scale, A(1) / sqrt(rounded::add(variance, epsilon)));
}
/// An element normalised, not rounded yet.
template <typename T>
__device__ __forceinline__ Acc<T> batch_normalised(T x, Acc<T> mean, Acc<T> factor, Acc<T> bias) {
  return rounded::fma(rounded::sub(widen(x), mean), factor, bias);
}
/// What is above this is above 0 when it is rounded to T: half of the least number that T has.
template <typename T>
__device__ __forceinline__ constexpr Acc<T> half_of_least() {
  if constexpr (std::is_same_v<T, __half>) return 0x1p-25F;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return 0x1p-134F;
  return Acc<T>(0);
}

/// A statistic per channel, in the accumulation dtype: V of them.
template <int V, typename A>
__device__ __forceinline__ void load_channels(const A* from, std::int64_t channel, A (&to)[V]) {
#pragma unroll
  for (int i = 0; i < V; ++i) to[i] = from[channel + i];
}

}  // namespace plimsoll::cuda
