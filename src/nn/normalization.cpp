#include <plimsoll/nn/normalization.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

/// Sequences and volumes with everything between batch and channels in one row.
Tensor as_pictures(const Tensor& x, std::int64_t channels, Layout layout) {
  const std::int64_t n = x.dim(0);
  const std::int64_t each = n * channels == 0 ? 0 : x.elements() / (n * channels);
  return ops::reshape(x, layout == Layout::channels_last ? Shape{n, 1, each, channels}
                                                         : Shape{n, channels, 1, each});
}

}  // namespace

BatchNorm::BatchNorm(const BatchNormOptions& options) : options_(options) {
  options.channels != 0 ? declare(options.channels) : declare_later();
}

void BatchNorm::declare(std::int64_t channels) const {
  parameter("weight", {channels}, Init::ones());
  parameter("bias", {channels}, Init::zeros());
  buffer("running_mean", {DType::f32, {channels}}, Init::zeros());
  buffer("running_var", {DType::f32, {channels}}, Init::ones());
}

Tensor BatchNorm::forward(const Tensor& x) const {
  if (x.rank() < 2 || x.rank() > 5) {
    throw InvalidArgument(fmt::format(
        "[BatchNorm] the input is {}; it takes 2 to 5 dimensions, {}", x.type().to_string(),
        options_.layout == Layout::channels_last ? "[n, ..., channels]" : "[n, channels, ...]"));
  }
  const std::int64_t channels = x.dim(options_.layout == Layout::channels_last ? -1 : 1);
  if (own("weight") == nullptr) declare(channels);
  if (x.rank() == 3 || x.rank() == 5) {
    return ops::reshape(forward(as_pictures(x, channels, options_.layout)), x.shape());
  }
  const Parameter& weight = *own("weight");
  const Parameter& bias = *own("bias");
  const Parameter& mean = *own("running_mean");
  const Parameter& variance = *own("running_var");
  if (!training()) {
    return ops::batch_norm_inference(x, weight, bias, mean, variance, options_.epsilon,
                                     options_.layout);
  }
  const ops::BatchNormResult result =
      ops::batch_norm(x, weight, bias, options_.epsilon, options_.layout);
  const double share = options_.momentum;
  const std::int64_t count = x.elements() / std::max<std::int64_t>(weight.type().elements(), 1);
  const double unbiased =
      count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
  ops::move_towards(mean, ops::stop_gradient(result.mean), 1 - share, share);
  ops::move_towards(variance, ops::stop_gradient(result.variance), 1 - share, share * unbiased);
  return result.y;
}

LayerNorm::LayerNorm(const LayerNormOptions& options) : epsilon_(options.epsilon) {
  options.features != 0 ? declare(options.features) : declare_later();
}

void LayerNorm::declare(std::int64_t features) const {
  parameter("weight", {features}, Init::ones());
  parameter("bias", {features}, Init::zeros());
}

Tensor LayerNorm::forward(const Tensor& x) const {
  if (own("weight") == nullptr) declare(x.dim(-1));
  return ops::layer_norm(x, *own("weight"), *own("bias"), epsilon_);
}

RMSNorm::RMSNorm(const RMSNormOptions& options) : epsilon_(options.epsilon) {
  options.features != 0 ? declare(options.features) : declare_later();
}

void RMSNorm::declare(std::int64_t features) const {
  parameter("weight", {features}, Init::ones());
}

Tensor RMSNorm::forward(const Tensor& x) const {
  if (own("weight") == nullptr) declare(x.dim(-1));
  return ops::rms_norm(x, *own("weight"), epsilon_);
}

}  // namespace plimsoll::nn
