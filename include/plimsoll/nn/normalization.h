#pragma once

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

struct BatchNormOptions {
  std::int64_t channels = 0;  ///< 0: those of the first input
  double epsilon = 1e-5;
  /// The share of a new batch in the running statistics.
  double momentum = 0.1;
  Layout layout = Layout::channels_first;
};

/// Over all but the channels of an input with 2 to 5 dimensions: with the batch's statistics in
/// training, which also move `running_mean` and `running_var`; with those in evaluation. As in
/// PyTorch, the running variance is of the unbiased estimate. Channels are dimension 1, or the last
/// with Layout::channels_last.
class BatchNorm final : public Module {
 public:
  explicit BatchNorm(const BatchNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t channels) const;

  BatchNormOptions options_;
};

/// One class serves sequences, pictures and volumes; the names say what is meant.
using BatchNorm1D = BatchNorm;
using BatchNorm2D = BatchNorm;
using BatchNorm3D = BatchNorm;

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
