#pragma once

#include <plimsoll/ops/convolution_shape.h>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/rows.cuh"
#include "backend/cuda/kernels/split.cuh"

// Pictures as [planes, height, width, channels]: in NCHW there is one channel, and as many planes
// as there are channels in all. A thread has V channels of a pixel.

namespace plimsoll::cuda {

/// A pool, for the device.
struct Pool {
  std::int64_t planes, channels;
  std::int64_t in_height, in_width, out_height, out_width;
  std::int64_t kernel_height, kernel_width, stride_down, stride_across, top, left;
};

struct PoolState final : ops::KernelState {
  explicit PoolState(const ops::ConvShape& s)
      : pool{.planes = s.nhwc ? s.n : s.n * s.in_channels,
             .channels = s.nhwc ? s.in_channels : 1,
             .in_height = s.in_height,
             .in_width = s.in_width,
             .out_height = s.out_height,
             .out_width = s.out_width,
             .kernel_height = s.kernel_height,
             .kernel_width = s.kernel_width,
             .stride_down = s.stride_down,
             .stride_across = s.stride_across,
             .top = s.padding.top,
             .left = s.padding.left} {}
  Pool pool;
};
inline const Pool& pool_of(const KernelContext& k) {
  return static_cast<const PoolState&>(*k.state).pool;
}

/// A vector of channels of a pixel of a picture.
struct Pixel {
  std::int64_t plane, y, x, channel;
};
/// The one that vector number `i` of all is.
template <int V>
__device__ __forceinline__ Pixel pixel_of(std::int64_t i, std::int64_t height, std::int64_t width,
                                          std::int64_t channels) {
  const Split channel = split(i, channels / V);
  const Split x = split(channel.quotient, width);
  const Split y = split(x.quotient, height);
  return {y.quotient, y.remainder, x.remainder, channel.remainder * V};
}

/// f(i) for vectors 0 to `count`, in a grid of any size.
template <typename F>
__device__ __forceinline__ void for_elements(std::int64_t count, F f) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    f(i);
  }
}

/// body<T, V>() for pictures of so many channels.
template <typename Body>
void with_pixels(DType dtype, std::int64_t channels, Body&& body) {
  with_float(dtype, [&]<typename T>() {
    if constexpr (sizeof(T) < 8) {
      if (whole_vectors<T>(channels)) return body.template operator()<T, kVector<T>>();
    }
    body.template operator()<T, 1>();
  });
}

inline unsigned blocks_for_pixels(std::int64_t vectors) {
  return blocks_for(vectors, kThreads, 132 * 64);
}

}  // namespace plimsoll::cuda
