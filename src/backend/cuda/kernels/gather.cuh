#pragma once

#include <cstdint>

#include <plimsoll/backend/common/around.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/split.cuh"

namespace plimsoll::cuda {

using backend::Around;
using backend::around;

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
