// The windows of pictures as rows of a matrix, and back.
#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

/// Extents of a part of the batch, all of whose elements are counted in 32 bits.
struct Windows {
  unsigned vectors;  ///< of a pixel's channels
  unsigned in_height;
  unsigned in_width;
  unsigned out_height;
  unsigned out_width;
  unsigned kernel_height;
  unsigned kernel_width;
  int stride_down;
  int stride_across;
  int dilation_down;
  int dilation_across;
  int top;
  int left;
};

Windows windows_of(const ops::ConvShape& s, std::int64_t lanes) {
  const auto as_unsigned = [](std::int64_t value) { return static_cast<unsigned>(value); };
  const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
  return {.vectors = as_unsigned(s.in_channels / lanes),
          .in_height = as_unsigned(s.in_height),
          .in_width = as_unsigned(s.in_width),
          .out_height = as_unsigned(s.out_height),
          .out_width = as_unsigned(s.out_width),
          .kernel_height = as_unsigned(s.kernel_height),
          .kernel_width = as_unsigned(s.kernel_width),
          .stride_down = as_int(s.stride_down),
          .stride_across = as_int(s.stride_across),
          .dilation_down = as_int(s.dilation_down),
          .dilation_across = as_int(s.dilation_across),
          .top = as_int(s.padding.top),
          .left = as_int(s.padding.left)};
}

/// Where pixel (ky, kx) of a window is in the picture; false: outside.
struct Place {
  int row;
  int column;
  std::int64_t picture;

  __device__ Place(const Windows& g, unsigned pixel) {
    const auto across = static_cast<int>(pixel % g.out_width);
    pixel /= g.out_width;
    row = static_cast<int>(pixel % g.out_height) * g.stride_down - g.top;
    column = across * g.stride_across - g.left;
    picture = static_cast<std::int64_t>(pixel / g.out_height) * g.in_height;
  }
  __device__ bool find(const Windows& g, unsigned ky, unsigned kx, std::int64_t& at) const {
    const int down = row + static_cast<int>(ky) * g.dilation_down;
    const int across = column + static_cast<int>(kx) * g.dilation_across;
    at = ((picture + down) * g.in_width + across) * g.vectors;
    return static_cast<unsigned>(down) < g.in_height && static_cast<unsigned>(across) < g.in_width;
  }
};

/// V is four floats of a pixel.
template <typename V>
__global__ void __launch_bounds__(kThreads)
    copy_windows(V* columns, const V* x, const Windows g, unsigned count) {
  const unsigned threads = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const unsigned channel = i % g.vectors;
    unsigned rest = i / g.vectors;
    const unsigned kx = rest % g.kernel_width;
    rest /= g.kernel_width;
    const unsigned ky = rest % g.kernel_height;
    const Place place(g, rest / g.kernel_height);
    std::int64_t at = 0;
    V value = {};
    if (place.find(g, ky, kx, at)) value = x[at + channel];
    columns[i] = value;
  }
}

/// Any channels, of elements as large as T; kLanes of a row at a time.
template <typename T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    gather_windows(T* columns, const T* x, const Windows g, unsigned across, unsigned count) {
  const unsigned threads = gridDim.x * blockDim.x;
  const unsigned window = g.kernel_height * g.kernel_width * g.vectors;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const Place place(g, i / across);
    const unsigned first = i % across * kLanes;
    unsigned channel = first % g.vectors;
    unsigned kx = first / g.vectors % g.kernel_width;
    unsigned ky = first / g.vectors / g.kernel_width;
    Vec<T, kLanes> values;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      std::int64_t at = 0;
      const bool inside = place.find(g, ky, kx, at) && first + lane < window;
      values.lane[lane] = inside ? x[at + channel] : T(0);
      if (++channel == g.vectors) {
        channel = 0;
        if (++kx == g.kernel_width) {
          kx = 0;
          ++ky;
        }
      }
    }
    store_vec(columns + static_cast<std::int64_t>(i) * kLanes, values);
  }
}

/// [out, channels, window] to [out, (window, channels) and zeros to `columns`], or back.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    weight_rows(T* to, const T* from, unsigned channels, unsigned window, unsigned columns,
                bool back, std::int64_t count) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const unsigned width = back ? channels * window : columns;
    const std::int64_t out = i / width;
    const auto at = static_cast<unsigned>(i % width);
    if (back) {
      to[i] = from[out * columns + at % window * channels + at / window];
    } else {
      to[i] = at < channels * window
                  ? from[(out * channels + at % channels) * window + at / channels]
                  : T(0);
    }
  }
}

__device__ __forceinline__ void add(float& sum, float value) { sum += value; }
__device__ __forceinline__ void add(float4& sum, const float4& value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}

template <typename V>
__global__ void __launch_bounds__(kThreads)
    add_windows(V* x, const V* columns, const Windows g, std::int64_t count) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const auto channel = static_cast<unsigned>(i % g.vectors);
    std::int64_t rest = i / g.vectors;
    const auto column = static_cast<int>(rest % g.in_width);
    rest /= g.in_width;
    const auto row = static_cast<int>(rest % g.in_height);
    const std::int64_t n = rest / g.in_height;
    V sum = {};
    for (unsigned ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row + g.top - static_cast<int>(ky) * g.dilation_down;
      const int from = down / g.stride_down;
      if (down < 0 || from * g.stride_down != down) continue;
      if (from >= static_cast<int>(g.out_height)) continue;
      const std::int64_t pixels = (n * g.out_height + from) * g.out_width;
#pragma unroll 4
      for (unsigned kx = 0; kx < g.kernel_width; ++kx) {
        const int across = column + g.left - static_cast<int>(kx) * g.dilation_across;
        const int at = across / g.stride_across;
        V value = {};
        if (across >= 0 && at * g.stride_across == across && at < static_cast<int>(g.out_width)) {
          value =
              columns[(((pixels + at) * g.kernel_height + ky) * g.kernel_width + kx) * g.vectors +
                      channel];
        }
        add(sum, value);
      }
    }
    x[i] = sum;
  }
}

/// body.operator()<V>(lanes): four channels at a time where there are whole ones.
template <typename Body>
void with_lanes(const ops::ConvShape& s, Body&& body) {
  if (s.in_channels % 4 == 0) {
    body.template operator()<float4>(4);
  } else {
    body.template operator()<float>(1);
  }
}

}  // namespace

void to_columns(const ConvSpec& spec, std::int64_t pictures, std::int64_t width, const void* x,
                void* columns, cudaStream_t stream) {
  const ops::ConvShape& s = spec.shape;
  const std::int64_t elements = pictures * s.out_height * s.out_width * width;
  const bool whole = width == s.kernel_height * s.kernel_width * s.in_channels;
  if (spec.dtype == DType::f32 && whole && s.in_channels % 4 == 0) {
    const auto count = static_cast<unsigned>(elements / 4);
    copy_windows<float4><<<blocks_for(count, kThreads, 132 * 64), kThreads, 0, stream>>>(
        static_cast<float4*>(columns), static_cast<const float4*>(x), windows_of(s, 4), count);
  } else {
    const auto gather = [&]<typename T, int kLanes>() {
      const auto count = static_cast<unsigned>(elements / kLanes);
      gather_windows<T, kLanes><<<blocks_for(count, kThreads, 132 * 64), kThreads, 0, stream>>>(
          static_cast<T*>(columns), static_cast<const T*>(x), windows_of(s, 1),
          static_cast<unsigned>(width / kLanes), count);
    };
    if (dtype_size(spec.dtype) == 2) {
      gather.template operator()<std::uint16_t, 8>();
    } else if (width % 4 == 0) {
      gather.template operator()<std::uint32_t, 4>();
    } else {
      gather.template operator()<std::uint32_t, 1>();
    }
  }
  check_launch("conv2d");
}

void weight_to_rows(const ConvSpec& spec, std::int64_t columns, const void* from, void* to,
                    bool back, cudaStream_t stream) {
  const ops::ConvShape& s = spec.shape;
  const std::int64_t window = s.kernel_height * s.kernel_width;
  const std::int64_t count = s.out_channels * (back ? window * s.in_channels : columns);
  with_size(dtype_size(spec.dtype), [&]<typename T>() {
    weight_rows<T><<<blocks_for(count), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), static_cast<unsigned>(s.in_channels),
        static_cast<unsigned>(window), static_cast<unsigned>(columns), back, count);
  });
  check_launch("conv2d");
}

void from_columns(const ConvSpec& spec, std::int64_t pictures, const float* columns, float* x,
                  cudaStream_t stream) {
  const ops::ConvShape& s = spec.shape;
  with_lanes(s, [&]<typename V>(std::int64_t lanes) {
    const std::int64_t count = pictures * s.in_height * s.in_width * s.in_channels / lanes;
    add_windows<V><<<blocks_for(count, kThreads, 132 * 64), kThreads, 0, stream>>>(
        reinterpret_cast<V*>(x), reinterpret_cast<const V*>(columns), windows_of(s, lanes), count);
  });
  check_launch("conv2d");
}

}  // namespace plimsoll::cuda
