#pragma once

#include <plimsoll/ops/convolution.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

// Statistics are taken and kept in f32 (f64 for f64) whatever x's dtype; scale and bias may be
// wider than x, and the result has x's dtype.

struct BatchNormResult {
  Tensor y;
  Tensor mean;      ///< of the batch, per channel
  Tensor variance;  ///< of the batch, per channel, divided by the count
};

/// Over all but the channels, with the batch's own statistics. x has 2 (layout does not matter) or
/// 4 dimensions.
BatchNormResult batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias,
                           double epsilon = 1e-5, Layout layout = Layout::channels_first);
/// With given statistics: in validation.
Tensor batch_norm_inference(const Tensor& x, const Tensor& scale, const Tensor& bias,
                            const Tensor& mean, const Tensor& variance, double epsilon = 1e-5,
                            Layout layout = Layout::channels_first);
/// Over the channels of a group and all pixels, each picture by itself. x has 4 dimensions.
Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t groups,
                  double epsilon = 1e-5, Layout layout = Layout::channels_first);
/// Over the last dimension. bias may be undefined.
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias = {},
                  double epsilon = 1e-5);
/// x / sqrt(mean(x²) + epsilon) * scale over the last dimension.
Tensor rms_norm(const Tensor& x, const Tensor& scale, double epsilon = 1e-6);

/// x where a draw says so, divided by 1 - rate, else 0: the mask is a function of the random key
/// and the op's place, and is not kept. `x` itself for rate 0.
Tensor dropout(const Tensor& x, double rate);

}  // namespace plimsoll::ops
