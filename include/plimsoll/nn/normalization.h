#pragma once

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

struct BatchNormOptions {
  double epsilon = 1e-5;
  /// The share of a new batch in the running statistics.
  double momentum = 0.1;
  ops::Layout layout = ops::Layout::nchw;
};

/// Over all but the channels: with the batch's statistics in training, which also move
/// `running_mean` and `running_var`; with those in evaluation. As in PyTorch, the running variance
/// is of the unbiased estimate.
class BatchNorm2D final : public Module {
 public:
  explicit BatchNorm2D(std::int64_t channels, const BatchNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  BatchNormOptions options_;
  const Parameter& weight_;
  const Parameter& bias_;
  const Parameter& mean_;
  const Parameter& variance_;
};

/// Over the last dimension.
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(std::int64_t features, double epsilon = 1e-5);
  Tensor forward(const Tensor& x) const override;

 private:
  double epsilon_;
  const Parameter& weight_;
  const Parameter& bias_;
};

/// x / sqrt(mean(x²) + epsilon) * weight over the last dimension.
class RMSNorm final : public Module {
 public:
  explicit RMSNorm(std::int64_t features, double epsilon = 1e-6);
  Tensor forward(const Tensor& x) const override;

 private:
  double epsilon_;
  const Parameter& weight_;
};

}  // namespace plimsoll::nn
