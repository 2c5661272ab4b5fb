#pragma once

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

struct BatchNormOptions {
  std::int64_t channels = 0;  ///< 0: those of the first input
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
  explicit BatchNorm2D(const BatchNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t channels) const;

  BatchNormOptions options_;
};

struct LayerNormOptions {
  std::int64_t features = 0;  ///< 0: those of the first input
  double epsilon = 1e-5;
};

/// Over the last dimension.
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(const LayerNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t features) const;

  double epsilon_;
};

struct RMSNormOptions {
  std::int64_t features = 0;  ///< 0: those of the first input
  double epsilon = 1e-6;
};

/// x / sqrt(mean(x²) + epsilon) * weight over the last dimension.
class RMSNorm final : public Module {
 public:
  explicit RMSNorm(const RMSNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t features) const;

  double epsilon_;
};

}  // namespace plimsoll::nn
