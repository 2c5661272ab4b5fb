#include <plimsoll/nn/normalization.h>

#include <algorithm>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

/// target = (1 - share) * target + value
void move_towards(const Tensor& target, const Tensor& value, double share) {
  ops::assign(target, ops::add(ops::scale(target, 1 - share), value));
}

}  // namespace

BatchNorm2D::BatchNorm2D(std::int64_t channels, const BatchNormOptions& options)
    : options_(options),
      weight_(parameter("weight", {channels}, Init::ones())),
      bias_(parameter("bias", {channels}, Init::zeros())),
      mean_(buffer("running_mean", {DType::f32, {channels}}, Init::zeros())),
      variance_(buffer("running_var", {DType::f32, {channels}}, Init::ones())) {}

Tensor BatchNorm2D::forward(const Tensor& x) const {
  if (!training()) {
    return ops::batch_norm_inference(x, weight_, bias_, mean_, variance_, options_.epsilon,
                                     options_.layout);
  }
  const ops::BatchNormResult result =
      ops::batch_norm(x, weight_, bias_, options_.epsilon, options_.layout);
  const double share = options_.momentum;
  const std::int64_t count = x.elements() / std::max<std::int64_t>(weight_.type().elements(), 1);
  const double unbiased =
      count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
  move_towards(mean_, ops::scale(ops::stop_gradient(result.mean), share), share);
  move_towards(variance_, ops::scale(ops::stop_gradient(result.variance), share * unbiased), share);
  return result.y;
}

LayerNorm::LayerNorm(std::int64_t features, double epsilon)
    : epsilon_(epsilon),
      weight_(parameter("weight", {features}, Init::ones())),
      bias_(parameter("bias", {features}, Init::zeros())) {}

Tensor LayerNorm::forward(const Tensor& x) const {
  return ops::layer_norm(x, weight_, bias_, epsilon_);
}

RMSNorm::RMSNorm(std::int64_t features, double epsilon)
    : epsilon_(epsilon), weight_(parameter("weight", {features}, Init::ones())) {}

Tensor RMSNorm::forward(const Tensor& x) const { return ops::rms_norm(x, weight_, epsilon_); }

}  // namespace plimsoll::nn
