#pragma once

#include <algorithm>
#include <bit>

#include <plimsoll/ops/convolution_shape.h>
#include <plimsoll/ops/product_shape.h>

// How a GPU computes a convolution: a function of shape, dtype and pass alone, so that a plan made
// without a GPU, its explanation and the kernels have one answer.

namespace plimsoll::ops {

enum class ConvPass : std::uint8_t { forward, by_input, by_weight };

enum class ConvKernel : std::uint8_t {
  library,    ///< cuDNN's
  depthwise,  ///< our own, channels last
  products,   ///< matrix products over windows that are copied out, channels last
  plain,      ///< takes everything; many times slower
};

struct ConvRoute {
  ConvKernel kernel = ConvKernel::plain;
  /// Parts of the batch that are computed one after another, so that copies of pictures stay small.
  std::int64_t parts = 1;
  std::int64_t unit = 1;  ///< pictures that parts are multiples of
  Bytes columns = 0;      ///< the windows of a part of the batch, for products
  Bytes weight = 0;       ///< the weight in the order of the pictures
  Bytes sums = 0;         ///< of the parts' gradients by the weight, in f32
  Bytes workspace = 0;    ///< what it may take in all
};

/// The most workspace of a convolution, not counting copies of its weight and their sums. It is
/// exceeded only if the smallest part that the batch can be divided into has larger copies.
inline constexpr Bytes kConvWorkspace = MiB(256);
/// For what an algorithm takes beside copies of weights and pictures. Gradients by the weight of
/// pictures that are copied take more.
inline constexpr Bytes kConvAlgorithm = MiB(8);
inline constexpr Bytes kConvWeightAlgorithm = MiB(24);
/// Copies of pictures take at most this; else the batch is computed in parts.
inline constexpr Bytes kConvCopies = MiB(200);

inline bool is_depthwise(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}

/// Windows that are copied out for products take at most this at a time. In 16 bits and TF32 that
/// is done for pictures of few channels, where windows take at least so much in all.
inline constexpr Bytes kConvColumns = MiB(128);
inline constexpr Bytes kConvLeastColumns = MiB(8);

/// Full f32 has no use for matrix units, but its products want rows of channels.
inline constexpr bool kFullF32ChannelsLast = true;

/// Which layout of pictures the libraries have their fastest kernels for.
inline bool fast_with_channels_last(DType dtype, bool tf32) {
  if (dtype == DType::f32) return tf32 || kFullF32ChannelsLast;
  return dtype == DType::bf16 || dtype == DType::f16;
}

/// Whether the fast kernels take such pictures as they are: in their layout, and where channels
/// come last, in multiples of 16 bytes.
inline bool takes_picture(bool nhwc, std::int64_t channels, DType dtype, bool tf32) {
  if (dtype == DType::f32 && !tf32) return true;  // without matrix units
  if (nhwc != fast_with_channels_last(dtype, tf32)) return false;
  return !nhwc || channels % static_cast<std::int64_t>(16 / dtype_size(dtype)) == 0;
}

/// Bytes of the copies of pictures that the library's fast kernels work on, with channels rounded
/// up to multiples of 8. Without groups, only the side that needs it is copied. With groups, the
/// library copies both sides group by group, or pads all groups to the same power of 2: this is the
/// larger of the two, unless padding takes more than twice as much.
inline Bytes conv_copies(const ConvShape& s, DType dtype, bool tf32) {
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t out = s.out_channels / s.groups;
  const bool takes_in = takes_picture(s.nhwc, in, dtype, tf32);
  const bool takes_out = takes_picture(s.nhwc, out, dtype, tf32);
  const auto copy = [&](std::int64_t channels, std::int64_t height, std::int64_t width) {
    return static_cast<Bytes>(s.n * s.groups * channels * height * width) * dtype_size(dtype);
  };
  const auto whole = [](std::int64_t channels) { return (channels + 7) / 8 * 8; };
  const Bytes x = copy(whole(in), s.in_height, s.in_width);
  const Bytes y = copy(whole(out), s.out_height, s.out_width);
  if (s.groups == 1) return (takes_in ? 0 : x) + (takes_out ? 0 : y);
  const auto wide = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max(whole(in), whole(out)))));
  const Bytes alike = (takes_in && in == wide ? 0 : copy(wide, s.in_height, s.in_width)) +
                      (takes_out && out == wide ? 0 : copy(wide, s.out_height, s.out_width));
  if (alike == 0) return 0;
  return alike <= 2 * (x + y) ? std::max(alike, x + y) : x + y;
}

/// Whether each window is a pixel, so that pictures are matrices as they are.
inline bool is_pointwise(const ConvShape& s) {
  return s.kernel_height * s.kernel_width == 1 && s.stride_down == 1 && s.stride_across == 1 &&
         s.in_height == s.out_height && s.in_width == s.out_width && s.padding.top == 0 &&
         s.padding.left == 0;
}

/// Elements of a window that is copied out: with zeros to whole 16 bytes for matrix units.
inline std::int64_t conv_columns(const ConvShape& s, DType dtype, bool tf32) {
  const std::int64_t window = s.kernel_height * s.kernel_width * s.in_channels;
  if (is_pointwise(s) || (dtype == DType::f32 && !tf32)) return window;
  const auto unit = static_cast<std::int64_t>(16 / dtype_size(dtype));
  return (window + unit - 1) / unit * unit;
}

/// What a pass over `pictures` is as one product: of [pixels, windows], of [pixels, out] and of the
/// weight [out, window].
inline ProductShape conv_product(const ConvShape& s, ConvPass pass, DType dtype, bool tf32,
                                 std::int64_t pictures, bool bias) {
  const std::int64_t pixels = pictures * s.out_height * s.out_width;
  const std::int64_t window = conv_columns(s, dtype, tf32);
  ProductShape shape{.bias = bias, .dtype = dtype, .tf32 = tf32 && dtype == DType::f32};
  shape.m = pass == ConvPass::by_weight ? s.out_channels : pixels;
  shape.n = pass == ConvPass::forward ? s.out_channels : window;
  shape.k = pass == ConvPass::forward    ? window
            : pass == ConvPass::by_input ? s.out_channels
                                         : pixels;
  shape.transpose_a = pass == ConvPass::by_weight;
  shape.transpose_b = pass == ConvPass::forward;
  return shape;
}

/// How many pictures part `i` of a batch has, in whole `unit`s but for the last.
inline std::int64_t conv_pictures(const ConvShape& s, std::int64_t parts, std::int64_t i,
                                  std::int64_t unit = 1) {
  const std::int64_t units = (s.n + unit - 1) / unit;
  return std::min(s.n, units * (i + 1) / parts * unit) - std::min(s.n, units * i / parts * unit);
}

/// How many pictures parts of a batch are multiples of, so that each begins at whole 16 bytes.
inline std::int64_t conv_unit(const ConvShape& s, DType dtype) {
  const auto whole = static_cast<std::int64_t>(16 / dtype_size(dtype));
  const std::int64_t x = s.in_channels * s.in_height * s.in_width;
  const std::int64_t y = s.out_channels * s.out_height * s.out_width;
  std::int64_t unit = 1;
  while (unit * x % whole != 0 || unit * y % whole != 0) unit *= 2;
  return unit;
}

/// The route by products, where there is room for them; else a plain one.
inline ConvRoute products_route(const ConvShape& s, ConvPass pass, DType dtype, bool tf32) {
  ConvRoute route;
  const std::int64_t window = conv_columns(s, dtype, tf32);
  const Bytes weights = static_cast<Bytes>(s.out_channels * window) * dtype_size(dtype);
  Bytes columns = 0;
  if (!is_pointwise(s)) {
    const Bytes picture =
        static_cast<Bytes>(s.out_height * s.out_width * window) * dtype_size(dtype);
    if (picture > kConvColumns) return {};
    const auto most = static_cast<std::int64_t>(kConvColumns / picture);
    route.parts = (s.n + most - 1) / most;
    columns = picture * static_cast<Bytes>((s.n + route.parts - 1) / route.parts);
    route.weight = align_up(weights, 256);
  }
  route.kernel = ConvKernel::products;
  route.columns = align_up(columns, 256);
  if (pass == ConvPass::by_weight && route.parts > 1) {
    route.sums =
        align_up(static_cast<Bytes>(s.out_channels * window) * 4, 256) + align_up(weights, 256);
  }
  Bytes product = 0;
  for (const std::int64_t i : {std::int64_t{0}, route.parts - 1}) {
    for (const bool bias : {false, true}) {
      const auto shape = conv_product(s, pass, dtype, tf32, conv_pictures(s, route.parts, i), bias);
      product = std::max(product, product_route(shape).total());
    }
  }
  route.workspace = route.columns + route.weight + route.sums + product;
  return route.workspace <= kConvWorkspace ? route : ConvRoute{};
}

/// Whether products take it: all of full f32; else pictures of few channels, for which the library
/// has no fast kernels. Those for a single channel are the slowest, also where there are few
/// windows.
inline bool takes_products(const ConvShape& s, ConvPass pass, DType dtype, bool tf32) {
  if (!s.nhwc || s.groups != 1) return false;
  if (dtype == DType::f32 && !tf32) return true;
  const auto whole = static_cast<std::int64_t>(16 / dtype_size(dtype));
  if (pass == ConvPass::by_input || s.in_channels >= whole || is_pointwise(s)) return false;
  if (s.in_channels == 1) return true;
  const auto windows =
      static_cast<Bytes>(s.n * s.out_height * s.out_width * conv_columns(s, dtype, tf32));
  return windows * dtype_size(dtype) >= kConvLeastColumns;
}

/// Whether padding differs between two sides, as in causal convolutions. cuDNN's weight gradients
/// of some of them are wrong in full f32 (9.14, channels first): of a row of 5 pixels, say, with 2
/// zeros in front of it and none behind, windows of 3 and 2 channels.
inline bool has_uneven_padding(const ConvShape& s) {
  return s.padding.top != s.padding.bottom || s.padding.left != s.padding.right;
}

/// `tf32`: whether factors in f32 may be rounded to TF32.
inline ConvRoute conv_route(const ConvShape& s, ConvPass pass, DType dtype, bool tf32 = false) {
  ConvRoute route;
  const bool empty = s.in_shape().elements() == 0 || s.out_shape().elements() == 0 ||
                     s.weight_shape().elements() == 0;
  if (empty || dtype == DType::f64) return route;
  const auto weights = static_cast<Bytes>(s.weight_shape().elements());
  if (is_depthwise(s) && s.nhwc) {
    route.kernel = ConvKernel::depthwise;
    // The weight in f32; of its gradient, sums over parts of the rows.
    route.workspace = pass == ConvPass::by_weight ? MiB(16) : align_up(weights * 4, 256);
    route.workspace = std::max(route.workspace, align_up(weights * 4, 256));
    return route;
  }
  if (takes_products(s, pass, dtype, tf32)) {
    const ConvRoute products = products_route(s, pass, dtype, tf32);
    if (products.kernel != ConvKernel::plain) return products;
  }
  const bool full = dtype == DType::f32 && !tf32;
  if (full && pass == ConvPass::by_weight && has_uneven_padding(s)) return route;
  route.kernel = ConvKernel::library;
  const bool one_order =
      !s.nhwc || s.kernel_height * s.kernel_width == 1 || s.in_channels == s.groups;
  if (!one_order) route.weight = align_up(weights * dtype_size(dtype), 256);

  Bytes copies = conv_copies(s, dtype, tf32);
  bool smallest_parts = false;
  if (copies > kConvCopies) {
    route.unit = conv_unit(s, dtype);
    const std::int64_t units = (s.n + route.unit - 1) / route.unit;
    route.parts = std::min<std::int64_t>(
        units, static_cast<std::int64_t>((copies + kConvCopies - 1) / kConvCopies));
    smallest_parts = route.parts == units;
    const std::int64_t most = std::min(s.n, (units + route.parts - 1) / route.parts * route.unit);
    copies = (copies / static_cast<Bytes>(s.n) + 1) * static_cast<Bytes>(most);
    if (pass == ConvPass::by_weight && route.parts > 1) {
      route.sums = align_up(weights * 4, 256) + align_up(weights * dtype_size(dtype), 256);
    }
  }
  const std::int64_t in = (s.in_channels / s.groups + 7) / 8 * 8;
  const std::int64_t out = (s.out_channels / s.groups + 7) / 8 * 8 * s.groups;
  const auto padded = static_cast<Bytes>(in * out * s.kernel_height * s.kernel_width);
  const Bytes copied = padded != weights ? padded * dtype_size(dtype) : 0;
  const bool by_weight = pass == ConvPass::by_weight;
  Bytes other = copies + (by_weight && copies != 0 ? kConvWeightAlgorithm : kConvAlgorithm);
  const Bytes most = std::max(kConvWorkspace, smallest_parts ? other : 0);
  if (by_weight) other += padded * 8;  // it may be summed in parts, in f32
  route.workspace = route.weight + route.sums + copied + std::min(other, most);
  return route;
}

}  // namespace plimsoll::ops
