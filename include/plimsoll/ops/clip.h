#pragma once

#include <span>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

// Gradients made smaller, as TensorFlow's functions of these names do it. All are written in ops,
// so they trace; norms are taken and kept in f32 (f64 for f64) whatever the gradients' dtype.
// Undefined tensors (a parameter that the loss does not depend on) stay undefined and count
// nothing. InvalidArgument for a limit that is not above 0.

/// Every element within [low, high].
std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double low, double high);

/// `x` scaled down to a Euclidean norm of `limit` where it is larger. A norm that is not finite
/// gives NaN.
Tensor clip_by_norm(const Tensor& x, double limit);

/// The square root of the sum of the squares of all elements: a scalar. InvalidArgument if no
/// tensor is defined.
Tensor global_norm(std::span<const Tensor> tensors);

struct ClippedByGlobalNorm {
  std::vector<Tensor> gradients;
  Tensor norm;  ///< before clipping
};
/// All scaled by one factor, so that their global norm is at most `limit`. If the norm is not
/// finite, all become NaN.
ClippedByGlobalNorm clip_by_global_norm(std::span<const Tensor> gradients, double limit);

}  // namespace plimsoll::ops
