// Depthwise convolutions with channels last: every channel has a window of its own, so that they
// move bytes and hardly compute. A thread has Lanes channels. Forward and by the input it has some
// results in a row; with strides of 1, kRow of them, and it reads each pixel of a row once for all.
// Loads are under way together: what is outside of a picture is zero, not left out.
#include "backend/cuda/kernels/convolution_depthwise.cuh"

namespace plimsoll::cuda {
namespace {

using namespace depthwise;

/// The weight [channels, window] as f32 [window, channels]; `flipped`: from its last pixel on.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    lay_out_weight(float* to, const T* from, int channels, int window, bool flipped) {
  const int count = channels * window;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const int channel = i % channels;
    const int pixel = i / channels;
    to[i] =
        static_cast<float>(widen(from[channel * window + (flipped ? window - 1 - pixel : pixel)]));
  }
}

/// Strides and dilation of 1, a window that is Width wide. `w` is [height * Width, channels].
template <typename T, int Lanes, int Width>
__global__ void __launch_bounds__(kThreads, 2)
    dense_rows(T* y, const T* x, const float* w, const T* bias, const Window g, std::int64_t work) {
  const int vectors = g.channels / Lanes;
  const int tiles = (g.out_width + kRow - 1) / kRow;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const int channel = static_cast<int>(i % vectors) * Lanes;
    std::int64_t rest = i / vectors;
    const int first = static_cast<int>(rest % tiles) * kRow;
    rest /= tiles;
    const int row = static_cast<int>(rest % g.out_height);
    const std::int64_t n = rest / g.out_height;
    float sums[kRow][Lanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row - g.top + ky;
      if (down < 0 || down >= g.in_height) continue;
      const T* pixels =
          x + ((n * g.in_height + down) * g.in_width + first - g.left) * g.channels + channel;
      Raw<T, Lanes> raw[kRow + Width - 1];
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        raw[at] = load_raw<Lanes>(pixels + static_cast<std::int64_t>(at) * g.channels,
                                  is_within(first - g.left + at, g.in_width));
      }
      float factors[Width][Lanes];
#pragma unroll
      for (int kx = 0; kx < Width; ++kx) {
        load_wide<Lanes>(w + static_cast<std::int64_t>(ky * Width + kx) * g.channels + channel,
                         factors[kx]);
      }
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        float values[Lanes];
        widen_raw<T, Lanes>(raw[at], values);
#pragma unroll
        for (int t = 0; t < kRow; ++t) {
          const int kx = at - t;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < Lanes; ++c) {
            sums[t][c] = fmaf(values[c], factors[kx][c], sums[t][c]);
          }
        }
      }
    }
    Acc<T> bias_of[Lanes] = {};
    if (bias != nullptr) load_wide<Lanes>(bias + channel, bias_of);
    T* results = y + ((n * g.out_height + row) * g.out_width + first) * g.channels + channel;
#pragma unroll
    for (int t = 0; t < kRow; ++t) {
      if (first + t >= g.out_width) break;
      Acc<T> values[Lanes];
#pragma unroll
      for (int c = 0; c < Lanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]) + bias_of[c];
      store_wide<Lanes>(results + static_cast<std::int64_t>(t) * g.channels, values);
    }
  }
}

/// What a thread of the kernels for any window has: results in a row, `step` apart.
struct Results {
  int channel;
  int first;
  int row;
  std::int64_t n;
};

/// Results of images of height x width, `step` apart, kSome in a thread.
struct Tiling {
  int vectors;
  int height;
  int width;
  int step;

  __host__ __device__ int tiles() const {
    return step * (((width + step - 1) / step + kSome - 1) / kSome);
  }
  template <typename Index>
  __device__ __forceinline__ Results at(Index i, int lanes) const {
    const auto channel = static_cast<int>(i % static_cast<Index>(vectors)) * lanes;
    i /= static_cast<Index>(vectors);
    const auto tile = static_cast<int>(i % static_cast<Index>(tiles()));
    i /= static_cast<Index>(tiles());
    return {.channel = channel,
            .first = tile / step * kSome * step + tile % step,
            .row = static_cast<int>(i % static_cast<Index>(height)),
            .n = static_cast<std::int64_t>(i / static_cast<Index>(height))};
  }
};

/// Of the thread's i-th turn: with 32 bits where those do, since divisions are most of the work.
__device__ __forceinline__ Results results_of(const Tiling& tiling, std::int64_t i, int lanes,
                                              std::int64_t work) {
  return work <= 0xffffffffLL ? tiling.at(static_cast<std::uint32_t>(i), lanes)
                              : tiling.at(i, lanes);
}

/// Any window. `w` is [window, channels].
template <typename T, int Lanes>
__global__ void __launch_bounds__(kThreads)
    any_forward(T* y, const T* x, const float* w, const T* bias, const Window g,
                const Tiling tiling, std::int64_t work) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const auto [channel, first, row, n] = results_of(tiling, i, Lanes, work);
    float sums[kSome][Lanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row * g.stride_down - g.top + ky * g.dilation_down;
      if (!is_within(down, g.in_height)) continue;
      const T* pixels = x + (n * g.in_height + down) * g.in_width * g.channels + channel;
#pragma unroll 2
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        Raw<T, Lanes> raw[kSome];
#pragma unroll
        for (int t = 0; t < kSome; ++t) {
          const int across = (first + t) * g.stride_across - g.left + kx * g.dilation_across;
          raw[t] = load_raw<Lanes>(pixels + static_cast<std::int64_t>(across) * g.channels,
                                   is_within(across, g.in_width));
        }
        float factors[Lanes];
        load_wide<Lanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + channel,
            factors);
#pragma unroll
        for (int t = 0; t < kSome; ++t) {
          float values[Lanes];
          widen_raw<T, Lanes>(raw[t], values);
#pragma unroll
          for (int c = 0; c < Lanes; ++c) sums[t][c] = fmaf(values[c], factors[c], sums[t][c]);
        }
      }
    }
    Acc<T> bias_of[Lanes] = {};
    if (bias != nullptr) load_wide<Lanes>(bias + channel, bias_of);
    T* results = y + ((n * g.out_height + row) * g.out_width + first) * g.channels + channel;
#pragma unroll
    for (int t = 0; t < kSome; ++t) {
      if (first + t >= g.out_width) break;
      Acc<T> values[Lanes];
#pragma unroll
      for (int c = 0; c < Lanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]) + bias_of[c];
      store_wide<Lanes>(results + static_cast<std::int64_t>(t) * g.channels, values);
    }
  }
}

/// How far apart a thread's results are by the input: results that many apart read the same pixels
/// of the window. With a dilation of 1, only every stride-th pixel of it has a result.
__host__ __device__ inline int step_of(int stride, int dilation) {
  return dilation == 1 ? stride : 1;
}

template <typename T, int Lanes>
__global__ void __launch_bounds__(kThreads)
    any_by_input(T* x, const T* y, const float* w, const Window g, const Tiling tiling,
                 std::int64_t work) {
  const int ky_step = step_of(g.stride_down, g.dilation_down);
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const auto [channel, first, row, n] = results_of(tiling, i, Lanes, work);
    float sums[kSome][Lanes] = {};
    for (int ky = (row + g.top) % ky_step; ky < g.kernel_height; ky += ky_step) {
      const int down = row + g.top - ky * g.dilation_down;
      if (down < 0 || down % g.stride_down != 0 || down / g.stride_down >= g.out_height) continue;
      const T* results =
          y + (n * g.out_height + down / g.stride_down) * g.out_width * g.channels + channel;
#pragma unroll 2
      for (int kx = (first + g.left) % tiling.step; kx < g.kernel_width; kx += tiling.step) {
        Raw<T, Lanes> raw[kSome];
#pragma unroll
        for (int t = 0; t < kSome; ++t) {
          const int across = first + t * tiling.step + g.left - kx * g.dilation_across;
          const int at = across / g.stride_across;
          const bool inside = across >= 0 && at * g.stride_across == across && at < g.out_width;
          raw[t] = load_raw<Lanes>(results + static_cast<std::int64_t>(at) * g.channels, inside);
        }
        float factors[Lanes];
        load_wide<Lanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + channel,
            factors);
#pragma unroll
        for (int t = 0; t < kSome; ++t) {
          float values[Lanes];
          widen_raw<T, Lanes>(raw[t], values);
#pragma unroll
          for (int c = 0; c < Lanes; ++c) sums[t][c] = fmaf(values[c], factors[c], sums[t][c]);
        }
      }
    }
    T* pixels = x + ((n * g.in_height + row) * g.in_width + first) * g.channels + channel;
#pragma unroll
    for (int t = 0; t < kSome; ++t) {
      if (first + t * tiling.step >= g.in_width) break;
      Acc<T> values[Lanes];
#pragma unroll
      for (int c = 0; c < Lanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]);
      store_wide<Lanes>(pixels + static_cast<std::int64_t>(t) * tiling.step * g.channels, values);
    }
  }
}

/// The pictures' results from their pixels, forward or, with the weight flipped, the other way.
template <typename T, int Lanes>
void run_dense_rows(T* y, const T* x, const float* w, const T* bias, const ConvShape& s,
                    cudaStream_t stream) {
  const Window g = window_of(s);
  const std::int64_t work =
      s.n * s.out_height * ((s.out_width + kRow - 1) / kRow) * (s.in_channels / Lanes);
  with_width(s, [&]<int Width>() {
    dense_rows<T, Lanes, Width>
        <<<blocks_for(work, kThreads, 132 * 64), kThreads, 0, stream>>>(y, x, w, bias, g, work);
  });
}

/// What the gradient by the input is a convolution of, with strides of 1.
ConvShape turned(const ConvShape& s) {
  ConvShape t = s;
  t.in_height = s.out_height;
  t.in_width = s.out_width;
  t.out_height = s.in_height;
  t.out_width = s.in_width;
  t.padding.top = s.kernel_height - 1 - s.padding.top;
  t.padding.left = s.kernel_width - 1 - s.padding.left;
  return t;
}

template <typename T, int Lanes>
void run_depthwise(const ConvSpec& spec, const ConvArrays& arrays, float* workspace,
                   cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  if (spec.pass == ConvPass::by_weight)
    return depthwise::run_by_weight<T>(spec, arrays, workspace, stream);
  const bool forward = spec.pass == ConvPass::forward;
  auto* x = static_cast<T*>(arrays.x);
  auto* y = static_cast<T*>(arrays.y);
  const auto* bias = static_cast<const T*>(arrays.bias);
  const int channels = static_cast<int>(s.in_channels);
  const int window = static_cast<int>(s.kernel_height * s.kernel_width);
  const bool rows = has_rows(s);
  lay_out_weight<T><<<blocks_for(channels * window), kThreads, 0, stream>>>(
      workspace, static_cast<const T*>(arrays.w), channels, window, rows && !forward);
  if (rows) {
    forward ? run_dense_rows<T, Lanes>(y, x, workspace, bias, s, stream)
            : run_dense_rows<T, Lanes>(x, y, workspace, nullptr, turned(s), stream);
    return;
  }
  const Window g = window_of(s);
  const int vectors = channels / Lanes;
  const Tiling tiling =
      forward ? Tiling{.vectors = vectors, .height = g.out_height, .width = g.out_width, .step = 1}
              : Tiling{.vectors = vectors,
                       .height = g.in_height,
                       .width = g.in_width,
                       .step = step_of(g.stride_across, g.dilation_across)};
  const std::int64_t work = s.n * tiling.height * tiling.tiles() * vectors;
  const unsigned blocks = blocks_for(work, kThreads, 132 * 64);
  if (forward) {
    any_forward<T, Lanes><<<blocks, kThreads, 0, stream>>>(y, x, workspace, bias, g, tiling, work);
  } else {
    any_by_input<T, Lanes><<<blocks, kThreads, 0, stream>>>(x, y, workspace, g, tiling, work);
  }
}

}  // namespace

void depthwise_conv(const ConvSpec& spec, const ConvArrays& arrays, void* workspace,
                    cudaStream_t stream) {
  with_float(spec.dtype, [&]<typename T>() {
    if constexpr (sizeof(T) < 8) {
      depthwise::with_lanes(spec.shape, [&]<int Lanes>() {
        run_depthwise<T, Lanes>(spec, arrays, static_cast<float*>(workspace), stream);
      });
    }
  });
  check_launch("conv2d");
}

}  // namespace plimsoll::cuda
