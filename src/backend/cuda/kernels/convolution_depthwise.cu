// Depthwise convolutions with channels last: every channel has a window of its own, so that they
// move bytes and hardly compute. A thread has kLanes channels. Forward and, for strides of 1, by
// the input it has kRow results beside each other and reads each pixel of a row once for all of
// them. By the weight it has a row of the window, for one part of the pictures' rows; a second
// kernel adds up the parts in order.
#include "backend/cuda/kernels/convolution.h"
#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

using ops::ConvShape;

constexpr int kLanes = 4;
constexpr int kRow = 8;
/// Threads of a block along the channels, by the weight.
constexpr int kAcross = 32;

struct Window {
  int channels;
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  int kernel_height;
  int kernel_width;
  int stride_down;
  int stride_across;
  int dilation_down;
  int dilation_across;
  int top;
  int left;
};

Window window_of(const ConvShape& s) {
  const auto as_int = [](std::int64_t value) { return static_cast<int>(value); };
  return {.channels = as_int(s.in_channels),
          .in_height = as_int(s.in_height),
          .in_width = as_int(s.in_width),
          .out_height = as_int(s.out_height),
          .out_width = as_int(s.out_width),
          .kernel_height = as_int(s.kernel_height),
          .kernel_width = as_int(s.kernel_width),
          .stride_down = as_int(s.stride_down),
          .stride_across = as_int(s.stride_across),
          .dilation_down = as_int(s.dilation_down),
          .dilation_across = as_int(s.dilation_across),
          .top = as_int(s.padding.top),
          .left = as_int(s.padding.left)};
}

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
__global__ void __launch_bounds__(kThreads)
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
      float factors[Width][kLanes];
#pragma unroll
      for (int kx = 0; kx < Width; ++kx) {
        load_wide<kLanes>(w + static_cast<std::int64_t>(ky * Width + kx) * g.channels + channel,
                          factors[kx]);
      }
      const T* pixels =
          x + ((n * g.in_height + down) * g.in_width + first - g.left) * g.channels + channel;
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        const int across = first - g.left + at;
        if (across < 0 || across >= g.in_width) continue;
        Acc<T> values[kLanes];
        load_wide<kLanes>(pixels + static_cast<std::int64_t>(at) * g.channels, values);
#pragma unroll
        for (int t = 0; t < kRow; ++t) {
          const int kx = at - t;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < kLanes; ++c) {
            sums[t][c] = fmaf(static_cast<float>(values[c]), factors[kx][c], sums[t][c]);
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
      if (down < 0 || down >= g.in_height) continue;
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = column * g.stride_across - g.left + kx * g.dilation_across;
        if (across < 0 || across >= g.in_width) continue;
        Acc<T> values[kLanes];
        float factors[kLanes];
        load_wide<kLanes>(
            x + ((n * g.in_height + down) * g.in_width + across) * g.channels + channel, values);
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
      for (int kx = 0; kx < g.kernel_width; ++kx) {
        const int across = column + g.left - kx * g.dilation_across;
        if (across < 0 || across % g.stride_across != 0 ||
            across / g.stride_across >= g.out_width) {
          continue;
        }
        Acc<T> values[kLanes];
        float factors[kLanes];
        load_wide<kLanes>(y +
                              ((n * g.out_height + down / g.stride_down) * g.out_width +
                               across / g.stride_across) *
                                  g.channels +
                              channel,
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

/// How the gradient by the weight is cut: parts of the rows of all results.
struct Cut {
  int blocks = 1;  ///< side by side along the channels
  int parts = 1;
  std::int64_t rows = 0;
};

Cut cut_of(const ConvShape& s, Bytes workspace) {
  Cut cut;
  const auto vectors = static_cast<int>(s.in_channels / kLanes);
  cut.blocks = (vectors + kAcross - 1) / kAcross;
  cut.rows = s.n * s.out_height;
  const auto part = static_cast<Bytes>(s.weight_shape().elements()) * sizeof(float);
  const auto room = static_cast<std::int64_t>(workspace / part);
  constexpr std::int64_t kBlocks = 132 * 10;
  cut.parts = static_cast<int>(
      std::clamp<std::int64_t>(std::min({kBlocks / cut.blocks, cut.rows, room}), 1, 65535));
  return cut;
}

/// parts: [parts, window, channels]. threadIdx.y is the row of the window.
template <typename T, int Width>
__global__ void __launch_bounds__(kAcross* Width)
    dense_by_weight(float* parts, const T* x, const T* y, const Window g, const Cut cut) {
  const int channel = static_cast<int>(blockIdx.x * kAcross + threadIdx.x) * kLanes;
  if (channel >= g.channels) return;
  const int ky = static_cast<int>(threadIdx.y);
  const std::int64_t begin = cut.rows * blockIdx.y / cut.parts;
  const std::int64_t end = cut.rows * (blockIdx.y + 1) / cut.parts;
  float sums[Width][kLanes] = {};
  for (std::int64_t r = begin; r < end; ++r) {
    const int row = static_cast<int>(r % g.out_height);
    const std::int64_t n = r / g.out_height;
    const int down = row - g.top + ky;
    if (down < 0 || down >= g.in_height) continue;
    const T* pixels = x + (n * g.in_height + down) * g.in_width * g.channels + channel;
    const T* results = y + r * g.out_width * g.channels + channel;
    for (int first = 0; first < g.out_width; first += kRow) {
      Acc<T> dy[kRow][kLanes];
#pragma unroll
      for (int t = 0; t < kRow; ++t) {
#pragma unroll
        for (int c = 0; c < kLanes; ++c) dy[t][c] = 0;
        if (first + t < g.out_width) {
          load_wide<kLanes>(results + static_cast<std::int64_t>(first + t) * g.channels, dy[t]);
        }
      }
#pragma unroll
      for (int at = 0; at < kRow + Width - 1; ++at) {
        const int across = first - g.left + at;
        if (across < 0 || across >= g.in_width) continue;
        Acc<T> values[kLanes];
        load_wide<kLanes>(pixels + static_cast<std::int64_t>(across) * g.channels, values);
#pragma unroll
        for (int t = 0; t < kRow; ++t) {
          const int kx = at - t;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < kLanes; ++c) {
            sums[kx][c] =
                fmaf(static_cast<float>(values[c]), static_cast<float>(dy[t][c]), sums[kx][c]);
          }
        }
      }
    }
  }
  float* part =
      parts + static_cast<std::int64_t>(blockIdx.y) * g.kernel_height * Width * g.channels;
#pragma unroll
  for (int kx = 0; kx < Width; ++kx) {
    store_wide<kLanes>(part + static_cast<std::int64_t>(ky * Width + kx) * g.channels + channel,
                       sums[kx]);
  }
}

/// Any window; blockIdx.z is the pixel of the window.
template <typename T>
__global__ void __launch_bounds__(kAcross)
    any_by_weight(float* parts, const T* x, const T* y, const Window g, const Cut cut) {
  const int channel = static_cast<int>(blockIdx.x * kAcross + threadIdx.x) * kLanes;
  if (channel >= g.channels) return;
  const int pixel = static_cast<int>(blockIdx.z);
  const int ky = pixel / g.kernel_width;
  const int kx = pixel % g.kernel_width;
  const std::int64_t begin = cut.rows * blockIdx.y / cut.parts;
  const std::int64_t end = cut.rows * (blockIdx.y + 1) / cut.parts;
  float sums[kLanes] = {};
  for (std::int64_t r = begin; r < end; ++r) {
    const int row = static_cast<int>(r % g.out_height);
    const std::int64_t n = r / g.out_height;
    const int down = row * g.stride_down - g.top + ky * g.dilation_down;
    if (down < 0 || down >= g.in_height) continue;
    for (int column = 0; column < g.out_width; ++column) {
      const int across = column * g.stride_across - g.left + kx * g.dilation_across;
      if (across < 0 || across >= g.in_width) continue;
      Acc<T> values[kLanes];
      Acc<T> dy[kLanes];
      load_wide<kLanes>(x + ((n * g.in_height + down) * g.in_width + across) * g.channels + channel,
                        values);
      load_wide<kLanes>(y + (r * g.out_width + column) * g.channels + channel, dy);
#pragma unroll
      for (int c = 0; c < kLanes; ++c) {
        sums[c] = fmaf(static_cast<float>(values[c]), static_cast<float>(dy[c]), sums[c]);
      }
    }
  }
  const std::int64_t window = static_cast<std::int64_t>(g.kernel_height) * g.kernel_width;
  store_wide<kLanes>(parts + (blockIdx.y * window + pixel) * g.channels + channel, sums);
}

/// w [channels, window] from [parts, window, channels].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_parts(T* w, const float* parts, int channels, int window, int count) {
  const int all = channels * window;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= all) return;
  float sum = 0;
#pragma unroll 8
  for (int part = 0; part < count; ++part) sum += parts[static_cast<std::int64_t>(part) * all + i];
  w[static_cast<std::int64_t>(i % channels) * window + i / channels] =
      narrow<T>(static_cast<Acc<T>>(sum));
}

bool is_dense(const ConvShape& s) {
  return s.stride_down == 1 && s.stride_across == 1 && s.dilation_down == 1 &&
         s.dilation_across == 1;
}

/// Whether there are kernels for a window of its width that have a row of results in a thread.
bool has_rows(const ConvShape& s) {
  return is_dense(s) && (s.kernel_width == 3 || s.kernel_width == 5 || s.kernel_width == 7);
}

/// body.operator()<Width>() for windows that have; false for others.
template <typename Body>
bool with_width(const ConvShape& s, Body&& body) {
  if (!has_rows(s)) return false;
  switch (s.kernel_width) {
    case 3:
      body.template operator()<3>();
      return true;
    case 5:
      body.template operator()<5>();
      return true;
    case 7:
      body.template operator()<7>();
      return true;
    default:
      return false;
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
void run_by_weight(const ConvSpec& spec, const ConvArrays& arrays, float* parts,
                   cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  const Window g = window_of(s);
  const Cut cut = cut_of(s, ops::conv_route(s, spec.pass, spec.dtype).workspace);
  const auto* x = static_cast<const T*>(arrays.x);
  const auto* y = static_cast<const T*>(arrays.y);
  const int window = g.kernel_height * g.kernel_width;
  // A block has a row of threads for each row of the window.
  const bool dense =
      s.kernel_height <= s.kernel_width && with_width(s, [&]<int Width>() {
        const dim3 grid(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(cut.parts));
        const dim3 block(kAcross, static_cast<unsigned>(g.kernel_height));
        dense_by_weight<T, Width><<<grid, block, 0, stream>>>(parts, x, y, g, cut);
      });
  if (!dense) {
    const dim3 grid(static_cast<unsigned>(cut.blocks), static_cast<unsigned>(cut.parts),
                    static_cast<unsigned>(window));
    any_by_weight<T><<<grid, kAcross, 0, stream>>>(parts, x, y, g, cut);
  }
  const int all = g.channels * window;
  add_parts<T><<<static_cast<unsigned>((all + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<T*>(arrays.w), parts, g.channels, window, cut.parts);
}

template <typename T>
void run_depthwise(const ConvSpec& spec, const ConvArrays& arrays, float* workspace,
                   cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  if (spec.pass == ConvPass::by_weight) return run_by_weight<T>(spec, arrays, workspace, stream);
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
