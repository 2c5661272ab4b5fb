// Depthwise convolutions with channels last: every channel has a window of its own, so that they
// move bytes and hardly compute. A thread has kLanes channels. Forward and, for strides of 1, by
// the input it has kRow results beside each other and reads each pixel of a row once for all of
// them. Loads are under way together: what is outside of a picture is zero, not left out.
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
template <typename T, int Width>
__global__ void __launch_bounds__(kThreads, 2)
    dense_rows(T* y, const T* x, const float* w, const T* bias, const Window g, std::int64_t work) {
  const int vectors = g.channels / kLanes;
  const int tiles = (g.out_width + kRow - 1) / kRow;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const int channel = static_cast<int>(i % vectors) * kLanes;
    std::int64_t rest = i / vectors;
    const int first = static_cast<int>(rest % tiles) * kRow;
    rest /= tiles;
    const int row = static_cast<int>(rest % g.out_height);
    const std::int64_t n = rest / g.out_height;
    float sums[kRow][kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row - g.top + ky;
      if (down < 0 || down >= g.in_height) continue;
      const T* pixels =
          x + ((n * g.in_height + down) * g.in_width + first - g.left) * g.channels + channel;
      Raw<T> raw[kRow + Width - 1];
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        raw[at] = load_raw(pixels + static_cast<std::int64_t>(at) * g.channels,
                           is_within(first - g.left + at, g.in_width));
      }
      float factors[Width][kLanes];
#pragma unroll
      for (int kx = 0; kx < Width; ++kx) {
        load_wide<kLanes>(w + static_cast<std::int64_t>(ky * Width + kx) * g.channels + channel,
                          factors[kx]);
      }
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        float values[kLanes];
        widen_raw<T>(raw[at], values);
#pragma unroll
        for (int t = 0; t < kRow; ++t) {
          const int kx = at - t;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < kLanes; ++c) {
            sums[t][c] = fmaf(values[c], factors[kx][c], sums[t][c]);
          }
        }
      }
    }
    Acc<T> bias_of[kLanes] = {};
    if (bias != nullptr) load_wide<kLanes>(bias + channel, bias_of);
    T* results = y + ((n * g.out_height + row) * g.out_width + first) * g.channels + channel;
#pragma unroll
    for (int t = 0; t < kRow; ++t) {
      if (first + t >= g.out_width) break;
      Acc<T> values[kLanes];
#pragma unroll
      for (int c = 0; c < kLanes; ++c) values[c] = static_cast<Acc<T>>(sums[t][c]) + bias_of[c];
      store_wide<kLanes>(results + static_cast<std::int64_t>(t) * g.channels, values);
    }
  }
}

/// Any window. `w` is [window, channels].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    any_forward(T* y, const T* x, const float* w, const T* bias, const Window g,
                std::int64_t work) {
  const int vectors = g.channels / kLanes;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const int channel = static_cast<int>(i % vectors) * kLanes;
    std::int64_t rest = i / vectors;
    const int column = static_cast<int>(rest % g.out_width);
    rest /= g.out_width;
    const int row = static_cast<int>(rest % g.out_height);
    const std::int64_t n = rest / g.out_height;
    Acc<T> sums[kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row * g.stride_down - g.top + ky * g.dilation_down;
      if (!is_within(down, g.in_height)) continue;
#pragma unroll 4
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = column * g.stride_across - g.left + kx * g.dilation_across;
        float values[kLanes];
        float factors[kLanes];
        widen_raw<T>(
            load_raw(x + ((n * g.in_height + down) * g.in_width + across) * g.channels + channel,
                     is_within(across, g.in_width)),
            values);
        load_wide<kLanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + channel,
            factors);
#pragma unroll
        for (int c = 0; c < kLanes; ++c) sums[c] += values[c] * factors[c];
      }
    }
    if (bias != nullptr) {
      Acc<T> bias_of[kLanes];
      load_wide<kLanes>(bias + channel, bias_of);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) sums[c] += bias_of[c];
    }
    store_wide<kLanes>(y + i * kLanes, sums);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    any_by_input(T* x, const T* y, const float* w, const Window g, std::int64_t work) {
  const int vectors = g.channels / kLanes;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < work;
       i += threads) {
    const int channel = static_cast<int>(i % vectors) * kLanes;
    std::int64_t rest = i / vectors;
    const int column = static_cast<int>(rest % g.in_width);
    rest /= g.in_width;
    const int row = static_cast<int>(rest % g.in_height);
    const std::int64_t n = rest / g.in_height;
    Acc<T> sums[kLanes] = {};
    for (int ky = 0; ky < g.kernel_height; ++ky) {
      const int down = row + g.top - ky * g.dilation_down;
      if (down < 0 || down % g.stride_down != 0 || down / g.stride_down >= g.out_height) continue;
      const T* results =
          y + (n * g.out_height + down / g.stride_down) * g.out_width * g.channels + channel;
#pragma unroll 4
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = column + g.left - kx * g.dilation_across;
        const int at = across / g.stride_across;
        const bool inside = across >= 0 && at * g.stride_across == across && at < g.out_width;
        float values[kLanes];
        float factors[kLanes];
        widen_raw<T>(load_raw(results + static_cast<std::int64_t>(at) * g.channels, inside),
                     values);
        load_wide<kLanes>(
            w + static_cast<std::int64_t>(ky * g.kernel_width + kx) * g.channels + channel,
            factors);
#pragma unroll
        for (int c = 0; c < kLanes; ++c) sums[c] += values[c] * factors[c];
      }
    }
    store_wide<kLanes>(x + i * kLanes, sums);
  }
}

/// The pictures' results from their pixels, forward or, with the weight flipped, the other way.
template <typename T>
void run_dense_rows(T* y, const T* x, const float* w, const T* bias, const ConvShape& s,
                    cudaStream_t stream) {
  const Window g = window_of(s);
  const std::int64_t work =
      s.n * s.out_height * ((s.out_width + kRow - 1) / kRow) * (s.in_channels / kLanes);
  with_width(s, [&]<int Width>() {
    dense_rows<T, Width>
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

template <typename T>
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
    forward ? run_dense_rows<T>(y, x, workspace, bias, s, stream)
            : run_dense_rows<T>(x, y, workspace, nullptr, turned(s), stream);
    return;
  }
  const Window g = window_of(s);
  const std::int64_t work = (forward ? s.out_shape().elements() : s.in_shape().elements()) / kLanes;
  const unsigned blocks = blocks_for(work, kThreads, 132 * 64);
  if (forward) {
    any_forward<T><<<blocks, kThreads, 0, stream>>>(y, x, workspace, bias, g, work);
  } else {
    any_by_input<T><<<blocks, kThreads, 0, stream>>>(x, y, workspace, g, work);
  }
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
