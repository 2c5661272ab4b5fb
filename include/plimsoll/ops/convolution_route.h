#pragma once

#include <algorithm>

#include <plimsoll/ops/convolution_shape.h>

// How a GPU computes a convolution: a function of shape, dtype and pass alone, so that a plan made
// without a GPU, its explanation and the kernels have one answer.

namespace plimsoll::ops {

enum class ConvPass : std::uint8_t { forward, by_input, by_weight };

enum class ConvKernel : std::uint8_t {
  library,    ///< cuDNN's
  depthwise,  ///< our own, channels last
  plain,      ///< takes everything; many times slower
};

struct ConvRoute {
  ConvKernel kernel = ConvKernel::plain;
  /// Parts of the batch that are computed one after another, so that copies of pictures stay small.
  std::int64_t parts = 1;
  Bytes weight = 0;     ///< the weight in the order of the pictures
  Bytes sums = 0;       ///< of the parts' gradients by the weight, in f32
  Bytes workspace = 0;  ///< what it may take in all
};

/// No convolution takes more workspace than this.
inline constexpr Bytes kConvWorkspace = MiB(256);
/// For what an algorithm takes beside weights and pictures.
inline constexpr Bytes kConvAlgorithm = MiB(8);
/// Copies of pictures take at most this; else the batch is computed in parts.
inline constexpr Bytes kConvCopies = MiB(200);

inline bool is_depthwise(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}

/// Bytes of a picture with channels rounded up to a multiple of 8.
inline Bytes padded_picture(std::int64_t n, std::int64_t channels, std::int64_t height,
                            std::int64_t width, DType dtype) {
  const std::int64_t wide = (channels + 7) / 8 * 8;
  return static_cast<Bytes>(n * wide * height * width) * dtype_size(dtype);
}

/// Full f32 has no use for matrix units, for whose sake channels come last.
inline constexpr bool kFullF32ChannelsLast = false;

/// Which layout of pictures the libraries have their fastest kernels for.
inline bool fast_with_channels_last(DType dtype, bool tf32) {
  if (dtype == DType::f32) return tf32 || kFullF32ChannelsLast;
  return dtype == DType::bf16 || dtype == DType::f16;
}

/// Whether the fast kernels take such pictures as they are: in their layout, and where channels
/// come last, in multiples of 16 bytes.
inline bool takes_picture(bool nhwc, std::int64_t channels, DType dtype, bool tf32) {
  if (nhwc != fast_with_channels_last(dtype, tf32)) return false;
  return !nhwc || channels % static_cast<std::int64_t>(16 / dtype_size(dtype)) == 0;
}

/// `tf32`: whether factors in f32 may be rounded to TF32.
inline ConvRoute conv_route(const ConvShape& s, ConvPass pass, DType dtype, bool tf32 = false) {
  ConvRoute route;
  const bool empty = s.in_shape().elements() == 0 || s.out_shape().elements() == 0 ||
                     s.weight_shape().elements() == 0;
  if (empty || dtype == DType::f64) return route;
  const auto weights = static_cast<Bytes>(s.weight_shape().elements());
  if (is_depthwise(s) && s.nhwc && s.groups % 4 == 0) {
    route.kernel = ConvKernel::depthwise;
    // The weight in f32; of its gradient, sums over parts of the rows.
    route.workspace = pass == ConvPass::by_weight ? MiB(16) : align_up(weights * 4, 256);
    route.workspace = std::max(route.workspace, align_up(weights * 4, 256));
    return route;
  }
  route.kernel = ConvKernel::library;
  const bool one_order =
      !s.nhwc || s.kernel_height * s.kernel_width == 1 || s.in_channels == s.groups;
  if (!one_order) route.weight = align_up(weights * dtype_size(dtype), 256);

  Bytes copies = 0;
  if (!takes_picture(s.nhwc, s.in_channels, dtype, tf32)) {
    copies += padded_picture(s.n, s.in_channels, s.in_height, s.in_width, dtype);
  }
  if (!takes_picture(s.nhwc, s.out_channels, dtype, tf32)) {
    copies += padded_picture(s.n, s.out_channels, s.out_height, s.out_width, dtype);
  }
  if (copies > kConvCopies) {
    route.parts = std::min<std::int64_t>(
        s.n, static_cast<std::int64_t>((copies + kConvCopies - 1) / kConvCopies));
    copies = (copies / static_cast<Bytes>(s.n) + 1) *
             static_cast<Bytes>((s.n + route.parts - 1) / route.parts);
    if (pass == ConvPass::by_weight && route.parts > 1) {
      route.sums = align_up(weights * 4, 256) + align_up(weights * dtype_size(dtype), 256);
    }
  }
  const std::int64_t in = (s.in_channels / s.groups + 7) / 8 * 8;
  const std::int64_t out = (s.out_channels + 7) / 8 * 8;
  const auto padded = static_cast<Bytes>(in * out * s.kernel_height * s.kernel_width);
  Bytes all = copies + route.weight + route.sums + kConvAlgorithm;
  if (padded != weights) all += padded * dtype_size(dtype);
  // Its gradient may be summed in parts, in f32.
  if (pass == ConvPass::by_weight) all += padded * 8;
  const Bytes least = route.weight + route.sums + kConvAlgorithm;
  route.workspace = std::max(std::min(all, kConvWorkspace), least);
  return route;
}

}  // namespace plimsoll::ops
