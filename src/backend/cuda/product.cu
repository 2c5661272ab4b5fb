#include "backend/cuda/product.h"

#include "backend/cuda/dtype.cuh"
#include "backend/cuda/launch.h"

namespace plimsoll::cuda {
namespace {

/// A thread stores 16 bytes at a time. Rows that are read start anywhere: neighbouring threads read
/// what lies beside each other.
template <typename T>
__global__ void __launch_bounds__(kThreads) copy_padded_kernel(T* to, const T* from, Padding p) {
  constexpr int kN = kVector<T>;
  const std::int64_t vectors = p.to_columns / kN;
  const std::int64_t all = p.count * p.to_rows * vectors;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += threads) {
    const std::int64_t line = i / vectors;
    const std::int64_t column = (i - line * vectors) * kN;
    const std::int64_t matrix = line / p.to_rows;
    const std::int64_t row = line - matrix * p.to_rows;
    Vec<T, kN> vec;
    const T* source = from + (matrix * p.rows + row) * p.columns + column;
#pragma unroll
    for (int e = 0; e < kN; ++e) {
      vec.lane[e] = row < p.rows && column + e < p.columns ? source[e] : T(0);
    }
    store_vec(to + i * kN, vec);
  }
}

/// A thread stores 16 bytes of the dense result at a time.
template <typename T>
__global__ void __launch_bounds__(kThreads) copy_unpadded_kernel(T* to, const T* from, Padding p) {
  constexpr int kN = kVector<T>;
  const std::int64_t all = p.count * p.rows * p.columns;
  const std::int64_t vectors = (all + kN - 1) / kN;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < vectors; i += threads) {
    std::int64_t line = i * kN / p.columns;
    std::int64_t column = i * kN - line * p.columns;
    std::int64_t matrix = line / p.rows;
    std::int64_t row = line - matrix * p.rows;
    Vec<T, kN> vec;
#pragma unroll
    for (int e = 0; e < kN; ++e) {
      if (i * kN + e < all) {
        vec.lane[e] = from[(matrix * p.to_rows + row) * p.to_columns + column];
      }
      if (++column == p.columns) {
        column = 0;
        if (++row == p.rows) {
          row = 0;
          ++matrix;
        }
      }
    }
    if ((i + 1) * kN <= all) {
      store_vec(to + i * kN, vec);
    } else {
      for (int e = 0; i * kN + e < all; ++e) to[i * kN + e] = vec.lane[e];
    }
  }
}

/// Four elements a thread. `Whole`: rows of partial sums and of the result are the same, so that
/// four are read at a time.
template <typename T, bool Whole>
__global__ void __launch_bounds__(kThreads)
    partial_sums_kernel(T* c, const float* partials, const T* bias, PartialSums s) {
  constexpr int kN = 4;
  const std::int64_t all = s.rows * s.columns;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kN;
       i < all; i += threads * kN) {
    std::int64_t row = i / s.columns;
    std::int64_t column = i - row * s.columns;
    std::int64_t from[kN];
    float sums[kN];
#pragma unroll
    for (int e = 0; e < kN; ++e) {
      // Behind the end the last element is read again, and not stored.
      from[e] = row * s.stride + column;
      sums[e] = bias == nullptr ? 0.0F : static_cast<float>(widen(bias[column]));
      if (i + e + 1 < all && ++column == s.columns) {
        column = 0;
        ++row;
      }
    }
#pragma unroll 8
    for (std::int64_t part = 0; part < s.parts; ++part) {
      const float* at = partials + part * s.step;
      if constexpr (Whole) {
        const Vec<float, kN> read = load_vec<kN>(at + i);
#pragma unroll
        for (int e = 0; e < kN; ++e) sums[e] += read.lane[e];
      } else {
#pragma unroll
        for (int e = 0; e < kN; ++e) sums[e] += at[from[e]];
      }
    }
#pragma unroll
    for (int e = 0; e < kN; ++e) {
      if (i + e < all) c[i + e] = narrow<T>(static_cast<Acc<T>>(sums[e]));
    }
  }
}

}  // namespace

void copy_padded(void* to, const void* from, const Padding& p, DType dtype, cudaStream_t stream) {
  with_size(dtype_size(dtype), [&]<typename T>() {
    const std::int64_t vectors = p.count * p.to_rows * (p.to_columns / kVector<T>);
    copy_padded_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), p);
  });
  check_launch("matmul");
}

void copy_unpadded(void* to, const void* from, const Padding& p, DType dtype, cudaStream_t stream) {
  with_size(dtype_size(dtype), [&]<typename T>() {
    const std::int64_t vectors = p.count * p.rows * p.columns / kVector<T> + 1;
    copy_unpadded_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), p);
  });
  check_launch("matmul");
}

void add_partial_sums(void* c, const float* partials, const void* bias, const PartialSums& s,
                      DType dtype, cudaStream_t stream) {
  const std::int64_t all = s.rows * s.columns;
  const bool whole = s.stride == s.columns && s.step % 4 == 0 && all % 4 == 0;
  const auto launch = [&]<typename T, bool Whole>() {
    partial_sums_kernel<T, Whole><<<blocks_for((all + 3) / 4), kThreads, 0, stream>>>(
        static_cast<T*>(c), partials, static_cast<const T*>(bias), s);
  };
  with_float(dtype, [&]<typename T>() {
    whole ? launch.template operator()<T, true>() : launch.template operator()<T, false>();
  });
  check_launch("matmul");
}

}  // namespace plimsoll::cuda
