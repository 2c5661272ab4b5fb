#pragma once

#include <plimsoll/ops/operators.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

// Element by element. Those of two tensors broadcast as NumPy does: shapes are aligned at their
// ends and extents of 1 are repeated. Both must have the same dtype; use cast. 16-bit floats are
// computed in f32 and rounded once.

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
/// Integers: towards zero; by zero is an InvalidArgument.
Tensor div(const Tensor& a, const Tensor& b);
/// The gradient goes to the larger; to `a` where both are equal. NaN wins.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);

/// bool results. Not differentiable.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
/// bool: neither NaN nor infinite.
Tensor is_finite(const Tensor& x);

/// `a` where `condition` (bool) holds, else `b`; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor round(const Tensor& x);  ///< halves to even

Tensor relu(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1.0);
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor silu(const Tensor& x);
Tensor softplus(const Tensor& x);
enum class Gelu : std::uint8_t { exact, tanh };
Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);

/// Values outside [low, high] become its ends; no gradient flows there.
Tensor clip(const Tensor& x, const Scalar& low, const Scalar& high);

/// x * factor and x + offset, in x's dtype.
Tensor scale(const Tensor& x, double factor);
Tensor shift(const Tensor& x, double offset);

/// The values in another dtype: rounded to nearest (ties to even) into a narrower floating one,
/// towards zero into integers (what does not fit becomes the nearest that does, NaN becomes 0),
/// `x != 0` into bool. `x` itself if it has that dtype.
Tensor cast(const Tensor& x, DType dtype);

/// The same values, through which no gradient flows.
Tensor stop_gradient(const Tensor& x);

}  // namespace plimsoll::ops
