#pragma once

#include <cstdint>

#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// One call of the library: c [m,n] = a [m,k] b [k,n], `batches` times.
struct ProductCall {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batches = 1;
  DType dtype = DType::f32;
  bool tf32 = false;
  double share = 1;   ///< of the device's rate, for what the library is slower with
  double bytes = 0;   ///< read and written
  double result = 0;  ///< bytes of c
};

/// Seconds of a call on a GPU, its launch included: blocks of results over multiprocessors, and the
/// memory's traffic.
double call_seconds(const ProductCall& call, const DeviceDescription& device);

/// Of matmul and linear, with copies and slices.
double products_seconds(const ops::Products& products, const DeviceDescription& device);

/// Of linear_cross_entropy.
double head_seconds(const ops::HeadWork& shape, const DeviceDescription& device);

/// Of attention and its gradient, by whatever kernels take the shape.
double attention_seconds(const ops::AttentionShape& shape, DType dtype, bool tf32, bool grad,
                         const DeviceDescription& device);

}  // namespace plimsoll::plan
