// What chunked attention does to scores between products.
#include "backend/cuda/kernels/attention_chunked.h"

#include <limits>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

/// Rows of at most so many columns are a warp's, others a block's.
constexpr std::int64_t kWarpColumns = 2048;
constexpr int kBlock = 256;

/// The sum over the `Threads` of a row, in a fixed order, for all of them.
template <int Threads, typename T, typename Join>
__device__ __forceinline__ T join_row(T mine, T* shared, Join join) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    mine = join(mine, __shfl_xor_sync(0xffffffffU, mine, offset));
  }
  if constexpr (Threads > 32) {
    __syncthreads();  // what was there before has been read
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = shared[0];
#pragma unroll
    for (int i = 1; i < Threads / 32; ++i) mine = join(mine, shared[i]);
  }
  return mine;
}

/// Where a thread's row is: `Threads` of them share one.
template <int Threads>
struct Row {
  std::int64_t unit;
  std::int64_t query;
  int lane;

  __device__ static Row mine(const ScoreRows& rows) {
    const std::int64_t row =
        static_cast<std::int64_t>(blockIdx.x) * (kBlock / Threads) + threadIdx.x / Threads;
    return {row / rows.queries, row % rows.queries, static_cast<int>(threadIdx.x % Threads)};
  }
};

/// The unit's row of the mask; null where there is none.
__device__ __forceinline__ const bool* mask_of(const ScoreRows& rows, std::int64_t unit) {
  if (rows.mask == nullptr) return nullptr;
  return rows.mask + (rows.batch + unit * rows.batch_step) / rows.mask_batches * rows.keys;
}

/// Vectors that a thread has of a row: all of them at once where it is short enough (`Held` of
/// them), else read again for each pass.
template <typename T, int Threads, int Held>
class RowVectors {
 public:
  static constexpr int kN = kVector<T>;

  __device__ RowVectors(T* at, int lane, std::int64_t vectors)
      : at_(at), lane_(lane), vectors_(vectors) {
    if constexpr (Held > 0) {
#pragma unroll
      for (int i = 0; i < Held; ++i) {
        if (first_of(i) < vectors) held_[i] = load_vec<kN>(at + first_of(i) * kN);
      }
    }
  }

  /// body(vector, its number), which may change what is held.
  template <typename Body>
  __device__ __forceinline__ void each(Body body) {
    if constexpr (Held > 0) {
#pragma unroll
      for (int i = 0; i < Held; ++i) {
        if (first_of(i) < vectors_) body(held_[i], first_of(i));
      }
    } else {
      for (std::int64_t v = lane_; v < vectors_; v += Threads) {
        Vec<T, kN> vec = load_vec<kN>(at_ + v * kN);
        body(vec, v);
      }
    }
  }

 private:
  __device__ __forceinline__ std::int64_t first_of(int i) const { return lane_ + i * Threads; }

  T* at_;
  std::int64_t lane_;
  std::int64_t vectors_;
  Vec<T, kN> held_[Held > 0 ? Held : 1];
};

template <typename T, int Threads, int Held>
__global__ void __launch_bounds__(kBlock)
    softmax_kernel(T* scores, T* log_sums, ScoreRows rows, T scale) {
  constexpr int kN = kVector<T>;
  __shared__ T shared[kBlock / 32];
  const auto row = Row<Threads>::mine(rows);
  if (row.unit >= rows.units) return;  // a whole warp or block
  T* at = scores + row.unit * rows.step + row.query * rows.stride;
  const std::int64_t seen = rows.seen + (rows.causal ? row.query : 0);
  const std::int64_t seen_vectors = (seen + kN - 1) / kN;
  const bool* mask = mask_of(rows, row.unit);
  const auto counts = [&](std::int64_t key) {
    return key < seen && (mask == nullptr || mask[key]);
  };
  const T lowest = -std::numeric_limits<T>::infinity();
  T highest = lowest;
  RowVectors<T, Threads, Held> vectors(at, row.lane, seen_vectors);
  vectors.each([&](Vec<T, kN>& vec, std::int64_t v) {
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      if (counts(v * kN + i)) highest = fmax(highest, vec.lane[i] * scale);
    }
  });
  highest = join_row<Threads>(highest, shared, [](T a, T b) { return fmax(a, b); });
  T sum = 0;
  vectors.each([&](Vec<T, kN>& vec, std::int64_t v) {
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      vec.lane[i] = counts(v * kN + i) ? exp(vec.lane[i] * scale - highest) : T(0);
      sum += vec.lane[i];
    }
  });
  sum = join_row<Threads>(sum, shared, [](T a, T b) { return a + b; });
  const bool blind = sum == T(0);  // the mask hides all keys that it would see
  if (row.lane == 0) {
    log_sums[row.unit * rows.log_sums_step + row.query] = blind ? T(0) : highest + log(sum);
  }
  const T factor = blind ? T(0) : T(1) / sum;
  vectors.each([&](Vec<T, kN>& vec, std::int64_t v) {
    Vec<T, kN> weights;
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      T weight = vec.lane[i];
      if constexpr (Held == 0) {
        weight = counts(v * kN + i) ? exp(weight * scale - highest) : T(0);
      }
      weights.lane[i] = weight * factor;
    }
    store_vec(at + v * kN, weights);
  });
  const std::int64_t all = (rows.columns + kN - 1) / kN;
  for (std::int64_t v = seen_vectors + row.lane; v < all; v += Threads) {
    store_vec(at + v * kN, Vec<T, kN>{});
  }
}

template <typename T, int Threads>
__global__ void __launch_bounds__(kBlock)
    softmax_grad_kernel(T* scores, T* gradients, const T* log_sums, const T* d_log_sums, const T* y,
                        const T* dy, ValueRows values, ScoreRows rows, T scale) {
  constexpr int kN = kVector<T>;
  __shared__ T shared[kBlock / 32];
  const auto row = Row<Threads>::mine(rows);
  if (row.unit >= rows.units) return;  // a whole warp or block
  const std::int64_t value = row.unit * values.step + row.query * values.row;
  T delta = 0;
  for (std::int64_t i = row.lane; i < values.size; i += Threads) {
    delta += y[value + i] * dy[value + i];
  }
  delta = join_row<Threads>(delta, shared, [](T a, T b) { return a + b; });
  const std::int64_t number = row.unit * rows.log_sums_step + row.query;
  if (d_log_sums != nullptr) delta -= d_log_sums[number];
  const T log_sum = log_sums[number];
  const std::int64_t at = row.unit * rows.step + row.query * rows.stride;
  const std::int64_t seen = rows.seen + (rows.causal ? row.query : 0);
  const std::int64_t all = (rows.columns + kN - 1) / kN;
  const bool* mask = mask_of(rows, row.unit);
  for (std::int64_t v = row.lane; v < all; v += Threads) {
    Vec<T, kN> weights = load_vec<kN>(scores + at + v * kN);
    Vec<T, kN> grads = load_vec<kN>(gradients + at + v * kN);
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      const std::int64_t key = v * kN + i;
      const bool counts = key < seen && (mask == nullptr || mask[key]);
      const T weight = counts ? exp(weights.lane[i] * scale - log_sum) : T(0);
      weights.lane[i] = weight;
      grads.lane[i] = counts ? weight * (grads.lane[i] - delta) * scale : T(0);
    }
    store_vec(scores + at + v * kN, weights);
    store_vec(gradients + at + v * kN, grads);
  }
}

/// `body.template operator()<T, Threads>(blocks)`.
template <typename Body>
void with_rows(const ScoreRows& rows, DType dtype, Body&& body) {
  const std::int64_t count = rows.units * rows.queries;
  const auto launch = [&]<typename T>() {
    if (rows.columns <= kWarpColumns) {
      const std::int64_t per_block = kBlock / 32;
      body.template operator()<T, 32>(static_cast<unsigned>((count + per_block - 1) / per_block));
    } else {
      body.template operator()<T, kBlock>(static_cast<unsigned>(count));
    }
  };
  dtype == DType::f64 ? launch.template operator()<double>() : launch.template operator()<float>();
}

}  // namespace

void softmax_scores(void* scores, void* log_sums, const ScoreRows& rows, DType dtype,
                    cudaStream_t stream) {
  with_rows(rows, dtype, [&]<typename T, int Threads>(unsigned blocks) {
    const auto launch = [&]<int Held>() {
      softmax_kernel<T, Threads, Held><<<blocks, kBlock, 0, stream>>>(
          static_cast<T*>(scores), static_cast<T*>(log_sums), rows, static_cast<T>(rows.scale));
    };
    if constexpr (Threads == 32 && sizeof(T) == 4) {
      constexpr std::int64_t kFew = std::int64_t{32} * kVector<T>;
      if (rows.columns <= 4 * kFew) return launch.template operator()<4>();
      if (rows.columns <= 8 * kFew) return launch.template operator()<8>();
      if (rows.columns <= 16 * kFew) return launch.template operator()<16>();
    }
    launch.template operator()<0>();
  });
  check_launch("attention");
}

void softmax_scores_grad(void* scores, void* gradients, const void* log_sums,
                         const void* d_log_sums, const ValueRows& values, const ScoreRows& rows,
                         DType dtype, cudaStream_t stream) {
  with_rows(rows, dtype, [&]<typename T, int Threads>(unsigned blocks) {
    softmax_grad_kernel<T, Threads><<<blocks, kBlock, 0, stream>>>(
        static_cast<T*>(scores), static_cast<T*>(gradients), static_cast<const T*>(log_sums),
        static_cast<const T*>(d_log_sums), static_cast<const T*>(values.y),
        static_cast<const T*>(values.dy), values, rows, static_cast<T>(rows.scale));
  });
  check_launch("attention_grad");
}

}  // namespace plimsoll::cuda
