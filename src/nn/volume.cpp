#include <plimsoll/nn/volume.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

void check(const char* who, const Tensor& x) {
  if (x.rank() == 5) return;
  throw InvalidArgument(
      fmt::format("[{}] the input is {}; it takes volumes, [n, channels, depth, height, width]",
                  who, x.type().to_string()));
}

std::int64_t volume_per_group(const char* who, std::int64_t in, std::int64_t out,
                              std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    throw InvalidArgument(fmt::format("[{}] {} groups do not divide {} channels in and {} out", who,
                                      groups, in, out));
  }
  return in / groups;
}

/// Zeros in front of, behind, above, below, left and right of a volume.
struct VolumeSides {
  ops::Padding depth;  ///< its left and right are front and back
  ops::Padding plane;
};
VolumeSides sides_of(const Tensor& x, const VolumePadding& padding, const Triple& size,
                     const Triple& stride, const Triple& dilation) {
  WindowPadding plane(padding.down, padding.across);
  WindowPadding depth(0, padding.depth);
  plane.same = depth.same = padding.same;
  return {sides(depth, 1, x.dim(2), {1, size.depth}, {1, stride.depth}, {1, dilation.depth}),
          sides(plane, x.dim(3), x.dim(4), {size.down, size.across}, {stride.down, stride.across},
                {dilation.down, dilation.across})};
}

/// How many windows of `size` slices fit.
std::int64_t windows_of(const Tensor& x, std::int64_t size, std::int64_t stride,
                        std::int64_t dilation, const ops::Padding& padding) {
  const std::int64_t reach = (size - 1) * dilation + 1;
  const std::int64_t depth = x.dim(2) + padding.left + padding.right;
  if (depth < reach) {
    throw InvalidArgument(fmt::format("[Conv3D] a window of {} slices is deeper than the input {}",
                                      reach, x.type().to_string()));
  }
  return (depth - reach) / stride + 1;
}

/// x [n, c, depth, h, w] as pictures [n * windows, c * size, h, w]: the slices that each window
/// sees, side by side as channels.
Tensor unfolded(const Tensor& x, std::int64_t windows, std::int64_t size, std::int64_t stride,
                std::int64_t dilation, const ops::Padding& padding) {
  Tensor padded = x;
  if (padding.left != 0 || padding.right != 0) {
    padded = ops::pad(x, {0, 0, padding.left, 0, 0}, {0, 0, padding.right, 0, 0});
  }
  std::vector<Tensor> taps;
  for (std::int64_t k = 0; k < size; ++k) {
    const std::int64_t first = k * dilation;
    taps.push_back(ops::slice(padded, 2, first, first + (windows - 1) * stride + 1, stride));
  }
  // [n, c, size, windows, h, w], then windows beside n.
  const Tensor stacked = ops::stack(taps, 2);
  const Tensor moved = ops::transpose(stacked, {0, 3, 1, 2, 4, 5});
  return ops::reshape(moved, Shape{x.dim(0) * windows, x.dim(1) * size, x.dim(3), x.dim(4)});
}

/// The opposite: pictures [n * depth, c * size, h, w] are added up where windows place them, in a
/// volume of `length` slices, of which `skip` in front are dropped.
Tensor folded(const Tensor& x, std::int64_t n, std::int64_t depth, std::int64_t size,
              std::int64_t stride, std::int64_t dilation, std::int64_t skip, std::int64_t length) {
  const std::int64_t c = x.dim(1) / size;
  const Tensor apart = ops::reshape(x, Shape{n, depth, c, size, x.dim(2), x.dim(3)});
  const Tensor updates = ops::transpose(apart, {0, 1, 3, 2, 4, 5});
  const Tensor starts = ops::scale(ops::arange(depth, DType::i64, x), static_cast<double>(stride));
  const Tensor taps = ops::scale(ops::arange(size, DType::i64, x), static_cast<double>(dilation));
  const Tensor places =
      ops::add(ops::reshape(starts, Shape{depth, 1}), ops::reshape(taps, Shape{1, size}));
  const std::int64_t whole =
      std::max((depth - 1) * stride + (size - 1) * dilation + 1, skip + length);
  const Tensor added = ops::scatter_add(updates, places, Shape{n, whole, c, x.dim(2), x.dim(3)}, 1);
  return ops::transpose(ops::slice(added, 1, skip, skip + length), {0, 2, 1, 3, 4});
}

Triple or_size(Triple stride, const Triple& size) {
  if (stride.depth == 0) stride.depth = size.depth;
  if (stride.down == 0) stride.down = size.down;
  if (stride.across == 0) stride.across = size.across;
  return stride;
}

Tensor pooled(const char* who, const Tensor& x, const Triple& size, const Pool3DOptions& options,
              Tensor (*pool)(const Tensor&, const ops::PoolOptions&)) {
  check(who, x);
  const Triple& stride = options.stride;
  const VolumeSides sides = sides_of(x, options.padding, size, stride, 1);
  // Slices by themselves, then their depth: the largest of largest, the mean of means.
  const Tensor slices =
      pool(ops::reshape(x, Shape{x.dim(0), x.dim(1) * x.dim(2), x.dim(3), x.dim(4)}),
           {.size = {size.down, size.across},
            .stride = {stride.down, stride.across},
            .padding = sides.plane});
  const std::int64_t height = slices.dim(2);
  const std::int64_t width = slices.dim(3);
  const Tensor y = pool(ops::reshape(slices, Shape{x.dim(0), x.dim(1), x.dim(2), height * width}),
                        {.size = {size.depth, 1},
                         .stride = {stride.depth, 1},
                         .padding = {sides.depth.left, sides.depth.right, 0, 0}});
  return ops::reshape(y, Shape{x.dim(0), x.dim(1), y.dim(2), height, width});
}

}  // namespace

Conv3D::Conv3D(std::int64_t out, Triple size, const Conv3DOptions& options)
    : out_(out), size_(size), options_(options) {
  options.in != 0 ? declare(options.in) : declare_later();
}

void Conv3D::declare(std::int64_t in) const {
  const std::int64_t each = volume_per_group("Conv3D", in, out_, options_.groups);
  const Init fan_in = Init::fan_in_uniform(each * size_.depth * size_.down * size_.across);
  parameter("weight", {out_, each, size_.depth, size_.down, size_.across},
            options_.init.value_or(fan_in));
  if (options_.bias) parameter("bias", {out_}, options_.init ? Init::zeros() : fan_in);
}

Tensor Conv3D::forward(const Tensor& x) const {
  check("Conv3D", x);
  if (own("weight") == nullptr) declare(x.dim(1));
  const Conv3DOptions& o = options_;
  const VolumeSides sides = sides_of(x, o.padding, size_, o.stride, o.dilation);
  const std::int64_t windows =
      windows_of(x, size_.depth, o.stride.depth, o.dilation.depth, sides.depth);
  const Tensor pictures =
      unfolded(x, windows, size_.depth, o.stride.depth, o.dilation.depth, sides.depth);
  const Tensor weight = ops::reshape(
      *own("weight"), Shape{out_, x.dim(1) / o.groups * size_.depth, size_.down, size_.across});
  const Parameter* bias = own("bias");
  const Tensor y = ops::conv2d(pictures, weight, bias != nullptr ? bias->value() : Tensor(),
                               {.stride = {o.stride.down, o.stride.across},
                                .padding = sides.plane,
                                .dilation = {o.dilation.down, o.dilation.across},
                                .groups = o.groups});
  return ops::transpose(ops::reshape(y, Shape{x.dim(0), windows, out_, y.dim(2), y.dim(3)}),
                        {0, 2, 1, 3, 4});
}

ConvTranspose3D::ConvTranspose3D(std::int64_t out, Triple size,
                                 const ConvTranspose3DOptions& options)
    : out_(out), size_(size), options_(options) {
  options_.stride = or_size(options.stride, size);
  const Triple& stride = options_.stride;
  const Triple& more = options_.output_padding;
  if (more.depth >= stride.depth || more.down >= stride.down || more.across >= stride.across) {
    throw InvalidArgument(fmt::format(
        "[ConvTranspose3D] an output_padding of {}, {}, {} is not less than the stride {}, {}, {}; "
        "make it smaller",
        more.depth, more.down, more.across, stride.depth, stride.down, stride.across));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void ConvTranspose3D::declare(std::int64_t in) const {
  volume_per_group("ConvTranspose3D", in, out_, options_.groups);
  const std::int64_t each = out_ / options_.groups;
  const Init init = Init::fan_in_uniform(each * size_.depth * size_.down * size_.across);
  parameter("weight", {in, each, size_.depth, size_.down, size_.across}, init);
  if (options_.bias) parameter("bias", {out_}, init);
}

Tensor ConvTranspose3D::forward(const Tensor& x) const {
  check("ConvTranspose3D", x);
  if (own("weight") == nullptr) declare(x.dim(1));
  const ConvTranspose3DOptions& o = options_;
  const auto grown = [](std::int64_t from, std::int64_t window, std::int64_t stride,
                        std::int64_t padding, std::int64_t dilation, std::int64_t more) {
    return (from - 1) * stride - 2 * padding + dilation * (window - 1) + more + 1;
  };
  const std::int64_t depth = grown(x.dim(2), size_.depth, o.stride.depth, o.padding.depth,
                                   o.dilation.depth, o.output_padding.depth);
  const std::int64_t height = grown(x.dim(3), size_.down, o.stride.down, o.padding.down,
                                    o.dilation.down, o.output_padding.down);
  const std::int64_t width = grown(x.dim(4), size_.across, o.stride.across, o.padding.across,
                                   o.dilation.across, o.output_padding.across);
  if (depth < 1 || height < 1 || width < 1) {
    throw InvalidArgument(fmt::format(
        "[ConvTranspose3D] of {} a padding of {}, {}, {} leaves {} x {} x {}; use a smaller one",
        x.type().to_string(), o.padding.depth, o.padding.down, o.padding.across, depth, height,
        width));
  }
  const std::int64_t n = x.dim(0);
  const Tensor slices = ops::reshape(ops::transpose(x, {0, 2, 1, 3, 4}),
                                     Shape{n * x.dim(2), x.dim(1), x.dim(3), x.dim(4)});
  const Tensor weight = ops::reshape(
      *own("weight"), Shape{x.dim(1), out_ / o.groups * size_.depth, size_.down, size_.across});
  const Tensor apart = ops::conv2d_transpose(
      slices, weight, {slices.dim(0), out_ * size_.depth, height, width},
      {.stride = {o.stride.down, o.stride.across},
       .padding = {o.padding.down, o.padding.down, o.padding.across, o.padding.across},
       .dilation = {o.dilation.down, o.dilation.across},
       .groups = o.groups});
  const Tensor y = folded(apart, n, x.dim(2), size_.depth, o.stride.depth, o.dilation.depth,
                          o.padding.depth, depth);
  const Parameter* bias = own("bias");
  if (bias == nullptr) return y;
  return ops::add(y, ops::cast(ops::reshape(*bias, Shape{1, out_, 1, 1, 1}), y.dtype()));
}

MaxPool3D::MaxPool3D(Triple size, const Pool3DOptions& options) : size_(size), options_(options) {
  options_.stride = or_size(options.stride, size);
}
Tensor MaxPool3D::forward(const Tensor& x) const {
  return pooled("MaxPool3D", x, size_, options_, ops::max_pool2d);
}

AvgPool3D::AvgPool3D(Triple size, const Pool3DOptions& options) : size_(size), options_(options) {
  options_.stride = or_size(options.stride, size);
}
Tensor AvgPool3D::forward(const Tensor& x) const {
  return pooled("AvgPool3D", x, size_, options_, ops::avg_pool2d);
}

Tensor GlobalAvgPool3D::forward(const Tensor& x) const {
  check("GlobalAvgPool3D", x);
  return ops::mean(x, {.axes = {2, 3, 4}});
}
Tensor GlobalMaxPool3D::forward(const Tensor& x) const {
  check("GlobalMaxPool3D", x);
  return ops::max(x, {.axes = {2, 3, 4}});
}

}  // namespace plimsoll::nn
