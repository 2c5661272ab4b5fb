#pragma once

#include <cstdint>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/split.cuh"

namespace plimsoll::cuda {

/// A dimension and what lies around it.
struct Around {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};
inline Around around(const Shape& shape, std::int64_t axis) {
  Around result;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? result.outer : i == axis ? result.extent : result.inner) *= shape[i];
  }
  return result;
}

/// i64 or i32.
struct Indices {
  const void* data;
  bool wide;

  __device__ __forceinline__ std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
};
inline Indices indices_of(const TensorView& view) {
  return {view.data, view.dtype() == DType::i64};
}

}  // namespace plimsoll::cuda
