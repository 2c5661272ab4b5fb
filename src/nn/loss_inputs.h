#pragma once

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

// What losses have in common: checks of their inputs, and means.

namespace plimsoll::nn {

/// f32, or f64 for f64.
inline Tensor widened(const Tensor& x) {
  return x.dtype() == DType::f64 ? x : ops::cast(x, DType::f32);
}

/// Both in f32 or f64, of one shape: a loss that broadcasts is a mistake more often than not.
inline std::pair<Tensor, Tensor> pair(const char* who, const Tensor& prediction,
                                      const Tensor& target) {
  if (prediction.shape() != target.shape()) {
    throw InvalidArgument(fmt::format("[{}] predictions have shape {}, targets {}; reshape one",
                                      who, prediction.shape().to_string(),
                                      target.shape().to_string()));
  }
  const Tensor wide = widened(prediction);
  return {wide, ops::cast(target, wide.dtype())};
}

/// The mean, weighed where `weights` is defined.
inline Tensor weighed_mean(const char* who, const Tensor& losses, const Tensor& weights) {
  if (!weights.defined()) return ops::mean(losses);
  Tensor each = ops::stop_gradient(ops::cast(weights, losses.dtype()));
  if (each.shape() != losses.shape()) {
    if (each.rank() != 1 || losses.rank() < 1 || each.dim(0) != losses.dim(0)) {
      throw InvalidArgument(fmt::format(
          "[{}] weights have shape {} for losses of shape {}; give one for each, or [n]", who,
          weights.shape().to_string(), losses.shape().to_string()));
    }
    Shape aligned = losses.shape();
    for (int i = 1; i < losses.rank(); ++i) aligned = aligned.with_dim(i, 1);
    each = ops::broadcast_to(ops::reshape(each, aligned), losses.shape());
  }
  // Where nothing counts, it is 0 and not NaN.
  const Tensor total = ops::sum(each);
  const Tensor none = ops::equal(total, ops::full_like_type(total, total.type(), 0));
  const Tensor divisor = ops::where(none, ops::full_like_type(total, total.type(), 1), total);
  return ops::div(ops::sum(ops::mul(losses, each)), divisor);
}

/// InvalidArgument unless it is at least 0, and finite.
inline void check_not_negative(const char* who, const char* what, double value) {
  if (!(value >= 0 && value < 1e300)) {
    throw InvalidArgument(fmt::format("[{}] {} is {}; it must be 0 or more", who, what, value));
  }
}
inline void check_above_zero(const char* who, const char* what, double value) {
  if (!(value > 0 && value < 1e300)) {
    throw InvalidArgument(fmt::format("[{}] {} is {}; it must be above 0", who, what, value));
  }
}

}  // namespace plimsoll::nn
