#pragma once

#include <cmath>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/update.h>
#include <plimsoll/optim/optimizer.h>

// What rules written in ops have in common.

namespace plimsoll::optim {

/// Writes `value` unless the step is not enabled.
inline void write(const Tensor& target, const Tensor& value, const Tensor& enable) {
  ops::assign(target, enable.defined() ? ops::where(enable, value, target) : value);
}

/// The gradient in the parameter's dtype, with weight decay added.
inline Tensor decayed_gradient(const Rule::Update& u, double weight_decay) {
  const Tensor g = ops::cast(u.gradient, u.parameter.dtype());
  const double decay = weight_decay * u.weight_decay_factor;
  return decay == 0 ? g : ops::add(g, ops::scale(u.parameter, decay));
}

/// The learning rate in the parameter's dtype.
inline Tensor rate_of(const Rule::Update& u) { return ops::cast(u.rate, u.parameter.dtype()); }

/// The parameter, or a part of it, after decay apart from the gradient: p (1 - rate * decay).
inline Tensor shrunk(const Rule::Update& u, const Tensor& parameter, double weight_decay) {
  const double decay = weight_decay * u.weight_decay_factor;
  if (decay == 0) return parameter;
  return ops::mul(parameter, ops::shift(ops::scale(rate_of(u), -decay), 1));
}
inline Tensor shrunk(const Rule::Update& u, double weight_decay) {
  return shrunk(u, u.parameter, weight_decay);
}

/// beta * average + (1 - beta) * value.
inline Tensor moved(const Tensor& average, const Tensor& value, double beta) {
  return ops::add(ops::scale(average, beta), ops::scale(value, 1 - beta));
}

/// 1 - beta^step, exact for betas near 1 as well: 1 - exp(-x) is 2t / (1 + t) with t = tanh(x / 2).
inline Tensor correction(const Tensor& step, double beta, DType dtype) {
  if (beta == 0) return ops::full_like_type(step, {dtype, {}}, 1);
  const Tensor t = ops::tanh(ops::scale(ops::cast(step, dtype), -std::log(beta) / 2));
  return ops::div(ops::scale(t, 2), ops::shift(t, 1));
}

}  // namespace plimsoll::optim
