#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/gemm.h"

namespace plimsoll::cuda {
namespace {

template <typename T>
__global__ void fill_rows_kernel(T* to, const T* row, std::int64_t rows, std::int64_t columns,
                                 std::int64_t stride) {
  const std::int64_t count = rows * columns;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const std::int64_t column = i % columns;
    to[i / columns * stride + column] = row == nullptr ? T(0) : row[column];
  }
}

}  // namespace

void fill_rows(void* to, const void* row, std::int64_t rows, std::int64_t columns,
               std::int64_t stride, DType dtype, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  with_size(dtype_size(dtype), [&]<typename T>() {
    fill_rows_kernel<<<blocks_for(rows * columns), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(row), rows, columns, stride);
  });
  check_launch("matmul");
}

}  // namespace plimsoll::cuda
