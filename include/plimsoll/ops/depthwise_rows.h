#pragma once

#include <plimsoll/ops/convolution_shape.h>

// Which of our kernels take a depthwise convolution with channels last, for predicted times.

namespace plimsoll::ops {

/// Whether a thread has several results beside each other, so that it reads each pixel of a row
/// once for all of them. Otherwise each result is computed by itself, which takes longer.
inline bool has_depthwise_rows(const ConvShape& s) {
  const bool window = s.kernel_width == 3 || s.kernel_width == 5 || s.kernel_width == 7;
  const bool dense =
      s.stride_down == 1 && s.stride_across == 1 && s.dilation_down == 1 && s.dilation_across == 1;
  return window && dense;
}

/// The same for the weight's gradient, where a thread has a row of the window.
inline bool has_depthwise_weight_rows(const ConvShape& s) {
  return has_depthwise_rows(s) && s.kernel_height <= s.kernel_width;
}

}  // namespace plimsoll::ops
