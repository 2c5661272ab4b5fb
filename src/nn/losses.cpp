// Losses of numbers: distances, margins, counts.
#include <plimsoll/nn/losses.h>

#include <numbers>

#include "nn/loss_inputs.h"

namespace plimsoll::nn {
namespace {

Tensor margins(const char* who, const Tensor& prediction, const Tensor& target) {
  const auto [x, y] = pair(who, prediction, target);
  return ops::relu(ops::shift(ops::neg(ops::mul(x, y)), 1));
}

/// huber() of every element.
Tensor huber_of(const Tensor& difference, double delta) {
  const Tensor away = ops::abs(difference);
  // Within delta it is the square, beyond it the line that touches it.
  const Tensor near = ops::clip(away, 0, delta);
  return ops::add(ops::scale(ops::square(near), 0.5), ops::scale(ops::sub(away, near), delta));
}

}  // namespace

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  return mean_squared_error(prediction, target, {});
}
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, const Tensor& weights) {
  const auto [x, y] = pair("mean_squared_error", prediction, target);
  return weighed_mean("mean_squared_error", ops::square(ops::sub(x, y)), weights);
}

Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target) {
  return mean_absolute_error(prediction, target, {});
}
Tensor mean_absolute_error(const Tensor& prediction, const Tensor& target, const Tensor& weights) {
  const auto [x, y] = pair("mean_absolute_error", prediction, target);
  return weighed_mean("mean_absolute_error", ops::abs(ops::sub(x, y)), weights);
}

Tensor huber(const Tensor& prediction, const Tensor& target, double delta, const Tensor& weights) {
  check_above_zero("huber", "delta", delta);
  const auto [x, y] = pair("huber", prediction, target);
  return weighed_mean("huber", huber_of(ops::sub(x, y), delta), weights);
}

Tensor smooth_l1(const Tensor& prediction, const Tensor& target, double beta,
                 const Tensor& weights) {
  check_above_zero("smooth_l1", "beta", beta);
  const auto [x, y] = pair("smooth_l1", prediction, target);
  return weighed_mean("smooth_l1", ops::scale(huber_of(ops::sub(x, y), beta), 1 / beta), weights);
}

Tensor log_cosh(const Tensor& prediction, const Tensor& target, const Tensor& weights) {
  const auto [x, y] = pair("log_cosh", prediction, target);
  // log((e^d + e^-d) / 2) = d + log(1 + e^-2d) - log(2)
  const Tensor d = ops::sub(x, y);
  const Tensor sum = ops::add(d, ops::softplus(ops::scale(d, -2)));
  return weighed_mean("log_cosh", ops::shift(sum, -std::numbers::ln2), weights);
}

Tensor poisson(const Tensor& log_rate, const Tensor& target, const Tensor& weights) {
  const auto [x, y] = pair("poisson", log_rate, target);
  return weighed_mean("poisson", ops::sub(ops::exp(x), ops::mul(x, y)), weights);
}

Tensor hinge(const Tensor& prediction, const Tensor& target, const Tensor& weights) {
  return weighed_mean("hinge", margins("hinge", prediction, target), weights);
}

Tensor squared_hinge(const Tensor& prediction, const Tensor& target, const Tensor& weights) {
  const Tensor all = margins("squared_hinge", prediction, target);
  return weighed_mean("squared_hinge", ops::square(all), weights);
}

}  // namespace plimsoll::nn
