#pragma once

#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// Which dimension of a picture is which.
struct PictureAxes {
  int channels;
  int height;
  int width;
};
constexpr PictureAxes axes_of(bool nhwc) {
  return nhwc ? PictureAxes{3, 1, 2} : PictureAxes{1, 2, 3};
}

/// A picture's shape from its extents.
inline Shape picture_shape(bool nhwc, std::int64_t n, std::int64_t channels, std::int64_t height,
                           std::int64_t width) {
  return nhwc ? Shape{n, height, width, channels} : Shape{n, channels, height, width};
}

/// The extents of a convolution or a pool, read off shapes and attributes ("stride", "padding",
/// "dilation", "groups", "nhwc"; for pools "size" and no weight).
struct ConvShape {
  bool nhwc = false;
  std::int64_t n = 0;
  std::int64_t in_channels = 0;
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t out_channels = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_width = 0;
  std::int64_t stride_down = 1;
  std::int64_t stride_across = 1;
  std::int64_t dilation_down = 1;
  std::int64_t dilation_across = 1;
  std::int64_t groups = 1;
  Padding padding;

  Shape in_shape() const { return picture_shape(nhwc, n, in_channels, in_height, in_width); }
  Shape out_shape() const { return picture_shape(nhwc, n, out_channels, out_height, out_width); }
  Shape weight_shape() const {
    return {out_channels, in_channels / groups, kernel_height, kernel_width};
  }
  /// Multiplications and additions of one pass.
  double flops() const;
};

/// The extents for an input and a weight shape, or for a pool over `x`; fails naming what is wrong.
ConvShape conv_shape(const OpInputs& inputs, const Shape& x, const Shape& weight);
ConvShape pool_shape(const OpInputs& inputs, const Shape& x);

Attributes conv_attributes(const ConvOptions& options);
Attributes pool_attributes(const PoolOptions& options);

}  // namespace plimsoll::ops
