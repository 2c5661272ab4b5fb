// Depthwise gradients by the weight: a thread has a row of the window (or one pixel of it), for
// one part of the pictures' rows; a second kernel adds up the parts in a fixed order.
#include "backend/cuda/kernels/convolution_depthwise.cuh"

namespace plimsoll::cuda::depthwise {
namespace {

/// Most threads of a block along the channels, and how many it has at least in all.
constexpr int kAcross = 32;
constexpr int kBlock = 256;
/// Results beside each other that a thread has: with several channels fewer than forward, for more
/// threads at a time.
template <int Lanes>
constexpr int kFew = Lanes == 1 ? 16 : 4;
/// Threads that add up parts of one element.
constexpr int kSlices = 16;

/// How the gradient by the weight is cut: parts of the rows of all results. A block's threads are
/// `side` parts of `each` rows (or pixels) of the window and `across` vectors of channels.
struct Cut {
  int across = 1;
  int each = 1;
  int side = 1;
  int blocks = 1;  ///< side by side along the channels
  int parts = 1;
  std::int64_t rows = 0;

  unsigned threads() const { return static_cast<unsigned>((across * each * side + 31) / 32 * 32); }
  unsigned down() const { return static_cast<unsigned>((parts + side - 1) / side); }
};

/// `lanes`: channels of a thread; `each`: how much of the window a block has; `times`: how many
/// blocks share the rest of it.
Cut cut_of(const ConvShape& s, int lanes, Bytes workspace, int each, int times) {
  Cut cut;
  cut.each = each;
  const auto vectors = static_cast<int>(s.in_channels / lanes);
  cut.blocks = (vectors + kAcross - 1) / kAcross;
  cut.across = (vectors + cut.blocks - 1) / cut.blocks;
  cut.side = std::max(1, kBlock / (cut.across * each));
  cut.rows = s.n * s.out_height;
  const auto part = static_cast<Bytes>(s.weight_shape().elements()) * sizeof(float);
  const auto room = static_cast<std::int64_t>(workspace / part);
  constexpr std::int64_t kFull = 132 * 1024;  // threads that fill a device
  const std::int64_t wanted = kFull / (static_cast<std::int64_t>(vectors) * each * times) + 1;
  cut.parts =
      static_cast<int>(std::clamp<std::int64_t>(std::min({wanted, cut.rows, room}), 1, 65535));
  cut.side = std::min(cut.side, cut.parts);
  return cut;
}

/// What a thread has of the cut.
struct Piece {
  int channel;
  int each;
  int part;
  std::int64_t begin;  ///< of the rows
  std::int64_t end;
};

/// False where there is nothing for it.
template <int Lanes>
__device__ __forceinline__ bool piece_of(const Cut& cut, int channels, Piece& piece) {
  const int thread = static_cast<int>(threadIdx.x);
  const int vector = thread % cut.across;
  const int rest = thread / cut.across;
  piece.channel = (static_cast<int>(blockIdx.x) * cut.across + vector) * Lanes;
  piece.each = rest % cut.each;
  piece.part = static_cast<int>(blockIdx.y) * cut.side + rest / cut.each;
  piece.begin = cut.rows * piece.part / cut.parts;
  piece.end = cut.rows * (piece.part + 1) / cut.parts;
  return piece.channel < channels && rest < cut.each * cut.side && piece.part < cut.parts;
}

/// parts: [parts, window, channels]. A thread has a row of the window.
template <typename T, int Lanes, int Width>
__global__ void __launch_bounds__(kBlock, 3)
    dense_by_weight(float* parts, const T* x, const T* y, const Window g, const Cut cut) {
  Piece piece;
  if (!piece_of<Lanes>(cut, g.channels, piece)) return;
  constexpr int kTogether = kFew<Lanes>;
  float sums[Width][Lanes] = {};
  for (std::int64_t r = piece.begin; r < piece.end; ++r) {
    const int row = static_cast<int>(r % g.out_height);
    const std::int64_t n = r / g.out_height;
    const int down = row - g.top + piece.each;
    if (!is_within(down, g.in_height)) continue;
    const T* pixels = x + (n * g.in_height + down) * g.in_width * g.channels + piece.channel;
    const T* results = y + r * g.out_width * g.channels + piece.channel;
    for (int first = 0; first < g.out_width; first += kTogether) {
      Raw<T, Lanes> raw_dy[kTogether];
      Raw<T, Lanes> raw[kTogether + Width - 1];
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        raw_dy[t] = load_raw<Lanes>(results + static_cast<std::int64_t>(first + t) * g.channels,
                                    first + t < g.out_width);
      }
#pragma unroll
      for (int at = 0; at < kTogether + Width - 1; ++at) {
        const int across = first - g.left + at;
        raw[at] = load_raw<Lanes>(pixels + static_cast<std::int64_t>(across) * g.channels,
                                  is_within(across, g.in_width));
      }
      float dy[kTogether][Lanes];
#pragma unroll
      for (int t = 0; t < kTogether; ++t) widen_raw<T, Lanes>(raw_dy[t], dy[t]);
#pragma unroll
      for (int at = 0; at < kTogether + Width - 1; ++at) {
        float values[Lanes];
        widen_raw<T, Lanes>(raw[at], values);
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
          const int kx = at - t;
          if (kx < 0 || kx >= Width) continue;
#pragma unroll
          for (int c = 0; c < Lanes; ++c) sums[kx][c] = fmaf(values[c], dy[t][c], sums[kx][c]);
        }
      }
    }
  }
  float* part =
      parts + static_cast<std::int64_t>(piece.part) * g.kernel_height * Width * g.channels;
#pragma unroll
  for (int kx = 0; kx < Width; ++kx) {
    store_wide<Lanes>(
        part + static_cast<std::int64_t>(piece.each * Width + kx) * g.channels + piece.channel,
        sums[kx]);
  }
}

/// Any window; blockIdx.z is a pixel of the window, and those behind it by the grid's depth.
template <typename T, int Lanes>
__global__ void __launch_bounds__(kBlock)
    any_by_weight(float* parts, const T* x, const T* y, const Window g, const Cut cut) {
  Piece piece;
  if (!piece_of<Lanes>(cut, g.channels, piece)) return;
  const int window = g.kernel_height * g.kernel_width;
  for (int pixel = static_cast<int>(blockIdx.z); pixel < window;
       pixel += static_cast<int>(gridDim.z)) {
    const int ky = pixel / g.kernel_width;
    const int kx = pixel % g.kernel_width;
    float sums[Lanes] = {};
    for (std::int64_t r = piece.begin; r < piece.end; ++r) {
      const int row = static_cast<int>(r % g.out_height);
      const std::int64_t n = r / g.out_height;
      const int down = row * g.stride_down - g.top + ky * g.dilation_down;
      if (!is_within(down, g.in_height)) continue;
      const T* pixels = x + (n * g.in_height + down) * g.in_width * g.channels + piece.channel;
      const T* results = y + r * g.out_width * g.channels + piece.channel;
#pragma unroll 4
      for (int column = 0; column < g.out_width; ++column) {
        const int across = column * g.stride_across - g.left + kx * g.dilation_across;
        float values[Lanes];
        float dy[Lanes];
        widen_raw<T, Lanes>(load_raw<Lanes>(pixels + static_cast<std::int64_t>(across) * g.channels,
                                            is_within(across, g.in_width)),
                            values);
        widen_raw<T, Lanes>(
            load_raw<Lanes>(results + static_cast<std::int64_t>(column) * g.channels, true), dy);
#pragma unroll
        for (int c = 0; c < Lanes; ++c) sums[c] = fmaf(values[c], dy[c], sums[c]);
      }
    }
    store_wide<Lanes>(parts +
                          (static_cast<std::int64_t>(piece.part) * window + pixel) * g.channels +
                          piece.channel,
                      sums);
  }
}

/// w [channels, window] from [parts, window, channels]: threadIdx.y has every kSlices-th part.
template <typename T>
__global__ void __launch_bounds__(32 * kSlices)
    add_parts(T* w, const float* parts, int channels, int window, int count) {
  __shared__ float shared[kSlices][32];
  const int all = channels * window;
  const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float sum = 0;
  if (i < all) {
#pragma unroll 8
    for (int part = static_cast<int>(threadIdx.y); part < count; part += kSlices) {
      sum += parts[static_cast<std::int64_t>(part) * all + i];
    }
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= all) return;
#pragma unroll
  for (int slice = 1; slice < kSlices; ++slice) sum += shared[slice][threadIdx.x];
  w[static_cast<std::int64_t>(i % channels) * window + i / channels] =
      narrow<T>(static_cast<Acc<T>>(sum));
}

template <typename T, int Lanes>
void run_lanes(const ConvSpec& spec, const ConvArrays& arrays, float* parts, cudaStream_t stream) {
  const ConvShape& s = spec.shape;
  const Window g = window_of(s);
  const Bytes workspace = ops::conv_route(s, spec.pass, spec.dtype).workspace;
  const auto* x = static_cast<const T*>(arrays.x);
  const auto* y = static_cast<const T*>(arrays.y);
  const int window = g.kernel_height * g.kernel_width;
  // A block has threads for each row of the window.
  Cut cut = cut_of(s, Lanes, workspace, g.kernel_height, 1);
  const bool dense =
      s.kernel_height <= s.kernel_width && with_width(s, [&]<int Width>() {
        const dim3 grid(static_cast<unsigned>(cut.blocks), cut.down());
        dense_by_weight<T, Lanes, Width><<<grid, cut.threads(), 0, stream>>>(parts, x, y, g, cut);
      });
  if (!dense) {
    cut = cut_of(s, Lanes, workspace, 1, window);
    const dim3 grid(static_cast<unsigned>(cut.blocks), cut.down(),
                    static_cast<unsigned>(std::min(window, 65535)));
    any_by_weight<T, Lanes><<<grid, cut.threads(), 0, stream>>>(parts, x, y, g, cut);
  }
  const int all = g.channels * window;
  add_parts<T><<<static_cast<unsigned>((all + 31) / 32), dim3(32, kSlices), 0, stream>>>(
      static_cast<T*>(arrays.w), parts, g.channels, window, cut.parts);
}

}  // namespace

template <typename T>
void run_by_weight(const ConvSpec& spec, const ConvArrays& arrays, float* parts,
                   cudaStream_t stream) {
  with_lanes(spec.shape, [&]<int Lanes>() { run_lanes<T, Lanes>(spec, arrays, parts, stream); });
}

#define PLIMSOLL_BY_WEIGHT(T) \
  template void run_by_weight<T>(const ConvSpec&, const ConvArrays&, float*, cudaStream_t)
PLIMSOLL_BY_WEIGHT(float);
PLIMSOLL_BY_WEIGHT(__half);
PLIMSOLL_BY_WEIGHT(__nv_bfloat16);
#undef PLIMSOLL_BY_WEIGHT

}  // namespace plimsoll::cuda::depthwise
