#pragma once

#include <array>

#include <plimsoll/base/layout.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// Pixels of zeros around a picture.
struct Padding {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;
  static Padding all(std::int64_t pixels) { return {pixels, pixels, pixels, pixels}; }
};

struct ConvOptions {
  std::array<std::int64_t, 2> stride = {1, 1};  ///< down, across
  Padding padding = {};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;
};

/// Cross-correlation of x with weight [out, in/groups, height, width], plus bias [out] if it is
/// defined. As many groups as channels is the depthwise one.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});

/// The gradient of conv2d by its input, as an op: also known as transposed convolution. `shape` is
/// the result's.
Tensor conv2d_transpose(const Tensor& y, const Tensor& weight, const Shape& shape,
                        const ConvOptions& options = {});

struct PoolOptions {
  std::array<std::int64_t, 2> size = {2, 2};
  std::array<std::int64_t, 2> stride = {2, 2};
  Padding padding = {};
  Layout layout = Layout::channels_first;
};

/// The largest in each window; padding never wins. The gradient goes to the first of equal ones.
Tensor max_pool2d(const Tensor& x, const PoolOptions& options = {});
/// The mean of each window, padding not counted.
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options = {});
/// The mean over height and width: [n, channels].
Tensor global_avg_pool2d(const Tensor& x, Layout layout = Layout::channels_first);
/// Every pixel repeated `factor` times down and across.
Tensor upsample_nearest2d(const Tensor& x, std::int64_t factor,
                          Layout layout = Layout::channels_first);

}  // namespace plimsoll::ops
