#include "backend/cuda/libraries/product.h"

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

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
    const T* source = from + matrix * p.step + row * p.stride + column;
#pragma unroll
    for (int e = 0; e < kN; ++e) {
      vec.lane[e] = row < p.rows && column + e < p.columns ? source[e] : T(0);
    }
    store_vec(to + i * kN, vec);
  }
}

constexpr int kTile = 32;
constexpr int kTileRows = 8;

/// A block moves a tile by way of shared memory, so that both sides are read and written in rows.
template <typename T>
__global__ void __launch_bounds__(kTile* kTileRows)
    copy_flipped_kernel(T* to, const T* from, Padding p) {
  __shared__ T tile[kTile][kTile + 1];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;  // of the rows read
  const std::int64_t across = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t column = across + threadIdx.x;
  const T* source = from + static_cast<std::int64_t>(blockIdx.z) * p.step;
#pragma unroll
  for (int i = 0; i < kTile; i += kTileRows) {
    const std::int64_t row = first + threadIdx.y + i;
    const bool inside = row < p.rows && column < p.columns;
    tile[threadIdx.y + i][threadIdx.x] = inside ? source[row * p.stride + column] : T(0);
  }
  __syncthreads();
  T* target = to + static_cast<std::int64_t>(blockIdx.z) * p.to_rows * p.to_columns;
  const std::int64_t to_column = first + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTile; i += kTileRows) {
    const std::int64_t to_row = across + threadIdx.y + i;
    if (to_row < p.to_rows && to_column < p.to_columns) {
      target[to_row * p.to_columns + to_column] = tile[threadIdx.x][threadIdx.y + i];
    }
  }
}

/// `Dense`: rows that are written follow each other, so that a thread stores 16 bytes of them at a
/// time. Else an element.
template <typename T, bool Dense>
__global__ void __launch_bounds__(kThreads) copy_unpadded_kernel(T* to, const T* from, Padding p) {
  constexpr int kN = Dense ? kVector<T> : 1;
  const std::int64_t all = p.count * p.rows * p.columns;
  const std::int64_t vectors = (all + kN - 1) / kN;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < vectors; i += threads) {
    std::int64_t line = i * kN / p.columns;
    std::int64_t column = i * kN - line * p.columns;
    std::int64_t matrix = line / p.rows;
    std::int64_t row = line - matrix * p.rows;
    if constexpr (!Dense) {
      to[matrix * p.step + row * p.stride + column] =
          from[(matrix * p.to_rows + row) * p.to_columns + column];
    } else {
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

void copy_flipped(void* to, const void* from, const Padding& p, DType dtype, cudaStream_t stream) {
  const auto tiles = [](std::int64_t extent) {
    return static_cast<unsigned>((extent + kTile - 1) / kTile);
  };
  const dim3 grid(tiles(p.to_columns), tiles(p.to_rows), static_cast<unsigned>(p.count));
  with_size(dtype_size(dtype), [&]<typename T>() {
    copy_flipped_kernel<<<grid, dim3(kTile, kTileRows), 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), p);
  });
  check_launch("matmul");
}

void copy_unpadded(void* to, const void* from, const Padding& p, DType dtype, cudaStream_t stream) {
  // A product of a batch, or a block of its rows, may begin anywhere.
  const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
  const bool dense =
      aligned && p.stride == p.columns && (p.count == 1 || p.step == p.rows * p.columns);
  const auto launch = [&]<typename T, bool Dense>() {
    const std::int64_t threads = p.count * p.rows * p.columns / (Dense ? kVector<T> : 1) + 1;
    copy_unpadded_kernel<T, Dense><<<blocks_for(threads), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), p);
  };
  with_size(dtype_size(dtype), [&]<typename T>() {
    dense ? launch.template operator()<T, true>() : launch.template operator()<T, false>();
  });
  check_launch("matmul");
}

}  // namespace plimsoll::cuda
