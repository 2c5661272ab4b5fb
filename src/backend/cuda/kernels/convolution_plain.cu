// Convolutions as sums over windows: a thread per element of y or x, a block per element of the
// weight. For f64, for shapes that cuDNN does not take, and where there is none.
#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::ConvShape;

/// A picture's elements: (n, channel, row, column) is at n*n + channel*c + row*h + column*w.
struct Strides {
  std::int64_t n;
  std::int64_t c;
  std::int64_t h;
  std::int64_t w;
};

Strides strides_of(bool nhwc, std::int64_t channels, std::int64_t height, std::int64_t width) {
  const std::int64_t n = channels * height * width;
  return nhwc ? Strides{n, 1, width * channels, channels} : Strides{n, height * width, width, 1};
}

/// What kernels read of a shape.
struct Geometry {
  std::int64_t n;
  std::int64_t in_channels;   ///< of a group
  std::int64_t out_channels;  ///< of a group
  std::int64_t groups;
  std::int64_t in_height;
  std::int64_t in_width;
  std::int64_t out_height;
  std::int64_t out_width;
  std::int64_t kernel_height;
  std::int64_t kernel_width;
  std::int64_t stride_down;
  std::int64_t stride_across;
  std::int64_t dilation_down;
  std::int64_t dilation_across;
  std::int64_t top;
  std::int64_t left;
  bool nhwc;
  Strides x;
  Strides y;
};

Geometry geometry_of(const ConvShape& s) {
  return {.n = s.n,
          .in_channels = s.in_channels / s.groups,
          .out_channels = s.out_channels / s.groups,
          .groups = s.groups,
          .in_height = s.in_height,
          .in_width = s.in_width,
          .out_height = s.out_height,
          .out_width = s.out_width,
          .kernel_height = s.kernel_height,
          .kernel_width = s.kernel_width,
          .stride_down = s.stride_down,
          .stride_across = s.stride_across,
          .dilation_down = s.dilation_down,
          .dilation_across = s.dilation_across,
          .top = s.padding.top,
          .left = s.padding.left,
          .nhwc = s.nhwc,
          .x = strides_of(s.nhwc, s.in_channels, s.in_height, s.in_width),
          .y = strides_of(s.nhwc, s.out_channels, s.out_height, s.out_width)};
}

struct Place {
  std::int64_t n;
  std::int64_t channel;
  std::int64_t row;
  std::int64_t column;
};

/// Element `i` of a dense array of pictures.
__device__ Place place_of(std::int64_t i, bool nhwc, std::int64_t channels, std::int64_t height,
                          std::int64_t width) {
  Place p;
  if (nhwc) {
    p.channel = i % channels;
    i /= channels;
    p.column = i % width;
    i /= width;
    p.row = i % height;
    p.n = i / height;
  } else {
    p.column = i % width;
    i /= width;
    p.row = i % height;
    i /= height;
    p.channel = i % channels;
    p.n = i / channels;
  }
  return p;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Geometry g, const T* x, const T* w, const T* bias, T* y, std::int64_t elements) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    const Place p = place_of(i, g.nhwc, g.out_channels * g.groups, g.out_height, g.out_width);
    const std::int64_t group = p.channel / g.out_channels;
    const T* picture = x + p.n * g.x.n + group * g.in_channels * g.x.c;
    const T* weight = w + p.channel * g.in_channels * g.kernel_height * g.kernel_width;
    Acc<T> sum = 0;
    for (std::int64_t ky = 0; ky < g.kernel_height; ++ky) {
      const std::int64_t row = p.row * g.stride_down - g.top + ky * g.dilation_down;
      if (row < 0 || row >= g.in_height) continue;
      for (std::int64_t kx = 0; kx < g.kernel_width; ++kx) {
        const std::int64_t column = p.column * g.stride_across - g.left + kx * g.dilation_across;
        if (column < 0 || column >= g.in_width) continue;
        const T* pixel = picture + row * g.x.h + column * g.x.w;
        const T* factor = weight + ky * g.kernel_width + kx;
        for (std::int64_t c = 0; c < g.in_channels; ++c) {
          sum += widen(pixel[c * g.x.c]) * widen(factor[c * g.kernel_height * g.kernel_width]);
        }
      }
    }
    if (bias != nullptr) sum += widen(bias[p.channel]);
    y[i] = narrow<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    by_input_kernel(Geometry g, const T* y, const T* w, T* x, std::int64_t elements) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t window = g.kernel_height * g.kernel_width;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    const Place p = place_of(i, g.nhwc, g.in_channels * g.groups, g.in_height, g.in_width);
    const std::int64_t group = p.channel / g.in_channels;
    const std::int64_t first = group * g.out_channels;
    const T* results = y + p.n * g.y.n + first * g.y.c;
    const T* weight = w + (first * g.in_channels + p.channel % g.in_channels) * window;
    Acc<T> sum = 0;
    for (std::int64_t ky = 0; ky < g.kernel_height; ++ky) {
      // The windows that this pixel is in at height ky.
      const std::int64_t down = p.row + g.top - ky * g.dilation_down;
      if (down < 0 || down % g.stride_down != 0 || down / g.stride_down >= g.out_height) continue;
      for (std::int64_t kx = 0; kx < g.kernel_width; ++kx) {
        const std::int64_t across = p.column + g.left - kx * g.dilation_across;
        if (across < 0 || across % g.stride_across != 0 ||
            across / g.stride_across >= g.out_width) {
          continue;
        }
        const T* result = results + down / g.stride_down * g.y.h + across / g.stride_across * g.y.w;
        const T* factor = weight + ky * g.kernel_width + kx;
        for (std::int64_t c = 0; c < g.out_channels; ++c) {
          sum += widen(result[c * g.y.c]) * widen(factor[c * g.in_channels * window]);
        }
      }
    }
    x[i] = narrow<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    by_weight_kernel(Geometry g, const T* x, const T* y, T* w, std::int64_t elements) {
  __shared__ Acc<T> sums[kThreads];
  for (std::int64_t i = blockIdx.x; i < elements; i += gridDim.x) {
    const std::int64_t kx = i % g.kernel_width;
    const std::int64_t ky = i / g.kernel_width % g.kernel_height;
    const std::int64_t channel = i / g.kernel_width / g.kernel_height % g.in_channels;
    const std::int64_t out = i / g.kernel_width / g.kernel_height / g.in_channels;
    const T* pictures = x + (out / g.out_channels * g.in_channels + channel) * g.x.c;
    const T* results = y + out * g.y.c;
    const std::int64_t places = g.n * g.out_height * g.out_width;
    Acc<T> sum = 0;
    for (std::int64_t p = threadIdx.x; p < places; p += kThreads) {
      const std::int64_t column = p % g.out_width;
      const std::int64_t row = p / g.out_width % g.out_height;
      const std::int64_t n = p / g.out_width / g.out_height;
      const std::int64_t down = row * g.stride_down - g.top + ky * g.dilation_down;
      const std::int64_t across = column * g.stride_across - g.left + kx * g.dilation_across;
      if (down < 0 || down >= g.in_height || across < 0 || across >= g.in_width) continue;
      sum += widen(pictures[n * g.x.n + down * g.x.h + across * g.x.w]) *
             widen(results[n * g.y.n + row * g.y.h + column * g.y.w]);
    }
    sums[threadIdx.x] = sum;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) w[i] = narrow<T>(sums[0]);
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) bias_kernel(T* y, const T* bias, std::int64_t elements,
                                                        std::int64_t run, std::int64_t channels) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    y[i] = narrow<T>(widen(y[i]) + widen(bias[i / run % channels]));
  }
}

/// [outer, rows, columns] to [outer, columns, rows].
template <typename T>
__global__ void __launch_bounds__(kThreads) swap_kernel(const T* from, T* to, std::int64_t elements,
                                                        std::int64_t rows, std::int64_t columns) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    const std::int64_t row = i % rows;
    const std::int64_t column = i / rows % columns;
    const std::int64_t outer = i / rows / columns;
    to[i] = from[(outer * rows + row) * columns + column];
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_part_kernel(float* sums, const T* part, std::int64_t elements, bool first) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    const auto value = static_cast<float>(widen(part[i]));
    sums[i] = first ? value : sums[i] + value;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    round_kernel(T* to, const float* sums, std::int64_t elements) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += threads) {
    to[i] = narrow<T>(static_cast<Acc<T>>(sums[i]));
  }
}

}  // namespace

void plain_conv(const ConvSpec& spec, const ConvArrays& arrays, cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  const Geometry g = geometry_of(s);
  with_float(spec.dtype, [&]<typename T>() {
    auto* x = static_cast<T*>(arrays.x);
    auto* w = static_cast<T*>(arrays.w);
    auto* y = static_cast<T*>(arrays.y);
    if (spec.pass == ConvPass::forward) {
      const std::int64_t elements = s.out_shape().elements();
      if (elements == 0) return;
      forward_kernel<T><<<blocks_for(elements), kThreads, 0, stream>>>(
          g, x, w, static_cast<const T*>(arrays.bias), y, elements);
    } else if (spec.pass == ConvPass::by_input) {
      const std::int64_t elements = s.in_shape().elements();
      if (elements == 0) return;
      by_input_kernel<T><<<blocks_for(elements), kThreads, 0, stream>>>(g, y, w, x, elements);
    } else {
      const std::int64_t elements = s.weight_shape().elements();
      if (elements == 0) return;
      by_weight_kernel<T><<<blocks_for(elements, 1), kThreads, 0, stream>>>(g, x, y, w, elements);
    }
  });
  check_launch("conv2d");
}

void add_conv_bias(const ConvSpec& spec, void* y, const void* bias, cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  const std::int64_t elements = s.out_shape().elements();
  if (elements == 0) return;
  with_float(spec.dtype, [&]<typename T>() {
    bias_kernel<T><<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<T*>(y), static_cast<const T*>(bias), elements,
        s.nhwc ? 1 : s.out_height * s.out_width, s.out_channels);
  });
  check_launch("conv2d");
}

void reorder_weight(const ConvSpec& spec, const void* from, void* to, bool back,
                    cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  const std::int64_t elements = s.weight_shape().elements();
  if (elements == 0) return;
  const std::int64_t channels = s.in_channels / s.groups;
  const std::int64_t window = s.kernel_height * s.kernel_width;
  with_size(dtype_size(spec.dtype), [&]<typename T>() {
    swap_kernel<T><<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const T*>(from), static_cast<T*>(to), elements, back ? window : channels,
        back ? channels : window);
  });
  check_launch("conv2d");
}

void add_part(DType dtype, float* sums, const void* part, std::int64_t elements, bool first,
              cudaStream_t stream) {
  with_float(dtype, [&]<typename T>() {
    add_part_kernel<T><<<blocks_for(elements), kThreads, 0, stream>>>(
        sums, static_cast<const T*>(part), elements, first);
  });
  check_launch("conv2d_weight_grad");
}

void round_sums(DType dtype, void* to, const float* sums, std::int64_t elements,
                cudaStream_t stream) {
  with_float(dtype, [&]<typename T>() {
    round_kernel<T>
        <<<blocks_for(elements), kThreads, 0, stream>>>(static_cast<T*>(to), sums, elements);
  });
  check_launch("conv2d_weight_grad");
}

}  // namespace plimsoll::cuda
