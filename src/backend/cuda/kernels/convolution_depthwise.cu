// Depthwise convolutions with channels last: every channel has a window of its own, so that they
// move bytes and hardly compute. A thread has kLanes channels and, for the windows that nets have,
// several results beside each other, for which it reads each pixel of a row once. Loads are under
// way together: what is outside of a picture is zero, not left out.
#include <algorithm>

#include <plimsoll/base/error.h>

#include "backend/cuda/kernels/convolution_depthwise.cuh"

namespace plimsoll::cuda {
namespace {

using namespace depthwise;

/// The weight [channels, window] as f32 [window, channels].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    lay_out_weight(float* to, const T* from, int channels, int window) {
  const int count = channels * window;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const int channel = i % channels;
    const int pixel = i / channels;
    to[i] = static_cast<float>(widen(from[channel * window + pixel]));
  }
}

/// What threads have, one after another: vectors of channels, runs of a row, rows, pictures. Below
/// 2^31 in all, so that finding a place costs no divisions.
struct Places {
  Divider vectors;
  Divider runs;
  Divider rows;
  std::uint32_t work = 0;

  Places(std::int64_t pictures, std::int64_t height, std::int64_t runs_of_row,
         std::int64_t channels)
      : vectors(channels / kLanes),
        runs(runs_of_row),
        rows(height),
        work(static_cast<std::uint32_t>(pictures * height * runs_of_row * (channels / kLanes))) {}
};

struct Place {
  int channel;
  int run;
  int row;
  std::int64_t n;

  __device__ __forceinline__ Place(const Places& p, std::uint32_t i) {
    channel = static_cast<int>(p.vectors.divide(i)) * kLanes;
    run = static_cast<int>(p.runs.divide(i));
    row = static_cast<int>(p.rows.divide(i));
    n = i;
  }
};

/// Calls body(places, first) for parts of the batch that Places can count, from picture `first` on.
template <typename Body>
void for_pictures(std::int64_t n, std::int64_t height, std::int64_t runs, std::int64_t channels,
                  Body&& body) {
  const std::int64_t each = height * runs * (channels / kLanes);
  if (each > kMostIndexed) throw InvalidArgument("[conv2d] a picture has more than 2^32 elements");
  const std::int64_t most = kMostIndexed / each;
  for (std::int64_t first = 0; first < n; first += most) {
    body(Places(std::min(most, n - first), height, runs, channels), first);
  }
}

constexpr std::int64_t kMostBlocks = 132 * 64;

/// A window that is Width wide; results beside each other are Across pixels apart. `w` is
/// [height * Width, channels].
template <typename T, int Width, int Across>
__global__ void __launch_bounds__(kThreads, 2)
    rows_forward(T* y, const T* x, const float* w, const T* bias, const Window g,
                 const Places places) {
  constexpr int kResults = kRow / Across;
  constexpr int kPixels = (kResults - 1) * Across + Width;
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < places.work; i += threads) {
    const Place at(places, i);
    const int first = at.run * kResults;
    const int left = first * Across - g.left;
    float sums[kResults][kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = at.row * g.stride_down - g.top + ky * g.dilation_down;
      if (!is_within(down, g.in_height)) continue;
      const T* pixels =
          x + ((at.n * g.in_height + down) * g.in_width + left) * g.channels + at.channel;
      Raw<T> raw[kPixels];
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        raw[p] = load_raw(pixels + static_cast<std::int64_t>(p) * g.channels,
                          is_within(left + p, g.in_width));
      }
      float factors[Width][kLanes];
#pragma unroll
      for (int kx = 0; kx < Width; ++kx) {
        load_wide<kLanes>(w + static_cast<std::int64_t>(ky * Width + kx) * g.channels + at.channel,
                          factors[kx]);
      }
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        float values[kLanes];
        widen_raw<T>(raw[p], values);
#pragma unroll
        for (int t = 0; t < kResults; ++t) {
          const int kx = p - t * Across;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < kLanes; ++c) {
            sums[t][c] = fmaf(values[c], factors[kx][c], sums[t][c]);
          }
        }
      }
    }
    Acc<T> bias_of[kLanes] = {};
    if (bias != nullptr) load_wide<kLanes>(bias + at.channel, bias_of);
    T* results =
        y + ((at.n * g.out_height + at.row) * g.out_width + first) * g.channels + at.channel;
#pragma unroll
    for (int t = 0; t < kResults; ++t) {
      if (first + t >= g.out_width) break;
      Acc<T> values[kLanes];
#pragma unroll
      for (int c = 0; c < kLanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]) + bias_of[c];
      store_wide<kLanes>(results + static_cast<std::int64_t>(t) * g.channels, values);
    }
  }
}

/// How many pixels of a row lie before the first whole run of strides, so that pixels of a run have
/// the same places in it everywhere.
template <int Across>
int before_runs(const ConvShape& s) {
  return static_cast<int>(s.padding.left % Across);
}

/// The gradient by the input with any strides down, and Across from one result to the next. A run
/// begins where pixel and padding are whole strides, `before` pixels to the left of the picture at
/// first. Which pixels of the window belong to which of the run is then known beforehand.
template <typename T, int Width, int Across>
__global__ void __launch_bounds__(kThreads, 2)
    rows_by_input(T* x, const T* y, const float* w, const Window g, const Places places,
                  const Divider stride_down, const int before) {
  static_assert(kRow % Across == 0);
  constexpr int kBefore = (Width - 1) / Across;  // results that begin before the run
  constexpr int kPixels = kBefore + (kRow - 1) / Across + 1;
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < places.work; i += threads) {
    const Place at(places, i);
    const int first = at.run * kRow - before;
    const int left = (first + g.left) / Across - kBefore;
    float sums[kRow][kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = at.row + g.top - ky * g.dilation_down;
      if (down < 0) break;
      auto row = static_cast<std::uint32_t>(down);
      if (stride_down.divide(row) != 0 || !is_within(static_cast<int>(row), g.out_height)) continue;
      const T* results =
          y + ((at.n * g.out_height + row) * g.out_width + left) * g.channels + at.channel;
      Raw<T> raw[kPixels];
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        raw[p] = load_raw(results + static_cast<std::int64_t>(p) * g.channels,
                          is_within(left + p, g.out_width));
      }
      float factors[Width][kLanes];
#pragma unroll
      for (int kx = 0; kx < Width; ++kx) {
        load_wide<kLanes>(w + static_cast<std::int64_t>(ky * Width + kx) * g.channels + at.channel,
                          factors[kx]);
      }
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        float values[kLanes];
        widen_raw<T>(raw[p], values);
#pragma unroll
        for (int t = 0; t < kRow; ++t) {
          const int kx = t - (p - kBefore) * Across;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < kLanes; ++c) {
            sums[t][c] = fmaf(values[c], factors[kx][c], sums[t][c]);
          }
        }
      }
    }
    T* pixels = x + ((at.n * g.in_height + at.row) * g.in_width + first) * g.channels + at.channel;
#pragma unroll
    for (int t = 0; t < kRow; ++t) {
      if (!is_within(first + t, g.in_width)) continue;
      Acc<T> values[kLanes];
#pragma unroll
      for (int c = 0; c < kLanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]);
      store_wide<kLanes>(pixels + static_cast<std::int64_t>(t) * g.channels, values);
    }
  }
}

/// Any window. `w` is [window, channels].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    any_forward(T* y, const T* x, const float* w, const T* bias, const Window g,
                const Places places) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < places.work; i += threads) {
    const Place at(places, i);
    Acc<T> sums[kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = at.row * g.stride_down - g.top + ky * g.dilation_down;
      if (!is_within(down, g.in_height)) continue;
      const T* pixels = x + (at.n * g.in_height + down) * g.in_width * g.channels + at.channel;
#pragma unroll 4
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = at.run * g.stride_across - g.left + kx * g.dilation_across;
        float values[kLanes];
        float factors[kLanes];
        widen_raw<T>(load_raw(pixels + static_cast<std::int64_t>(across) * g.channels,
                              is_within(across, g.in_width)),
                     values);
        load_wide<kLanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + at.channel,
            factors);
#pragma unroll
        for (int c = 0; c < kLanes; ++c) sums[c] += values[c] * factors[c];
      }
    }
    if (bias != nullptr) {
      Acc<T> bias_of[kLanes];
      load_wide<kLanes>(bias + at.channel, bias_of);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) sums[c] += bias_of[c];
    }
    store_wide<kLanes>(y + static_cast<std::int64_t>(i) * kLanes, sums);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    any_by_input(T* x, const T* y, const float* w, const Window g, const Places places,
                 const Divider stride_down, const Divider stride_across) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < places.work; i += threads) {
    const Place at(places, i);
    Acc<T> sums[kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = at.row + g.top - ky * g.dilation_down;
      if (down < 0) break;
      auto row = static_cast<std::uint32_t>(down);
      if (stride_down.divide(row) != 0 || !is_within(static_cast<int>(row), g.out_height)) continue;
      const T* results = y + (at.n * g.out_height + row) * g.out_width * g.channels + at.channel;
#pragma unroll 4
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = at.run + g.left - kx * g.dilation_across;
        auto column = static_cast<std::uint32_t>(max(across, 0));
        const bool whole = stride_across.divide(column) == 0;
        const bool inside =
            across >= 0 && whole && is_within(static_cast<int>(column), g.out_width);
        float values[kLanes];
        float factors[kLanes];
        widen_raw<T>(load_raw(results + static_cast<std::int64_t>(column) * g.channels, inside),
                     values);
        load_wide<kLanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + at.channel,
            factors);
#pragma unroll
        for (int c = 0; c < kLanes; ++c) sums[c] += values[c] * factors[c];
      }
    }
    store_wide<kLanes>(x + static_cast<std::int64_t>(i) * kLanes, sums);
  }
}

/// What the passes by pictures are given; the weight is laid out already.
template <typename T>
struct Arrays {
  T* x;
  T* y;
  const float* w;
  const T* bias;
};

template <typename T>
void run_forward(const Arrays<T>& arrays, const ConvShape& s, cudaStream_t stream) {
  const Window g = window_of(s);
  const std::int64_t x = s.in_height * s.in_width * s.in_channels;
  const std::int64_t y = s.out_height * s.out_width * s.in_channels;
  const auto launch = [&](std::int64_t runs, auto kernel) {
    for_pictures(s.n, s.out_height, runs, s.in_channels, [&](const Places& places, std::int64_t n) {
      kernel<<<blocks_for(places.work, kThreads, kMostBlocks), kThreads, 0, stream>>>(
          arrays.y + n * y, arrays.x + n * x, arrays.w, arrays.bias, g, places);
    });
  };
  const bool rows = with_rows(s, [&]<int Width, int Across>() {
    constexpr int kResults = kRow / Across;
    launch((s.out_width + kResults - 1) / kResults, rows_forward<T, Width, Across>);
  });
  if (!rows) launch(s.out_width, any_forward<T>);
}

template <typename T>
void run_by_input(const Arrays<T>& arrays, const ConvShape& s, cudaStream_t stream) {
  const Window g = window_of(s);
  const std::int64_t x = s.in_height * s.in_width * s.in_channels;
  const std::int64_t y = s.out_height * s.out_width * s.in_channels;
  const Divider down(s.stride_down);
  const auto launch = [&](std::int64_t runs, auto kernel, auto last) {
    for_pictures(s.n, s.in_height, runs, s.in_channels, [&](const Places& places, std::int64_t n) {
      kernel<<<blocks_for(places.work, kThreads, kMostBlocks), kThreads, 0, stream>>>(
          arrays.x + n * x, arrays.y + n * y, arrays.w, g, places, down, last);
    });
  };
  const bool rows = with_rows(s, [&]<int Width, int Across>() {
    const int before = before_runs<Across>(s);
    launch((s.in_width + before + kRow - 1) / kRow, rows_by_input<T, Width, Across>, before);
  });
  if (!rows) launch(s.in_width, any_by_input<T>, Divider(s.stride_across));
}

template <typename T>
void run_depthwise(const ConvSpec& spec, const ConvArrays& arrays, float* workspace,
                   cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  if (spec.pass == ConvPass::by_weight)
    return depthwise::run_by_weight<T>(spec, arrays, workspace, stream);
  const int channels = static_cast<int>(s.in_channels);
  const int window = static_cast<int>(s.kernel_height * s.kernel_width);
  lay_out_weight<T><<<blocks_for(channels * window), kThreads, 0, stream>>>(
      workspace, static_cast<const T*>(arrays.w), channels, window);
  const Arrays<T> typed{.x = static_cast<T*>(arrays.x),
                        .y = static_cast<T*>(arrays.y),
                        .w = workspace,
                        .bias = static_cast<const T*>(arrays.bias)};
  spec.pass == ConvPass::forward ? run_forward(typed, s, stream) : run_by_input(typed, s, stream);
}

}  // namespace

void depthwise_conv(const ConvSpec& spec, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream) {
  with_float(spec.dtype, [&]<typename T>() {
    if constexpr (sizeof(T) < 8) {
      run_depthwise<T>(spec, arrays, static_cast<float*>(workspace), stream);
    }
  });
  check_launch("conv2d");
}

}  // namespace plimsoll::cuda
