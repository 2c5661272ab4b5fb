#pragma once

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

struct GroupNormOptions {
  std::int64_t channels = 0;  ///< 0: those of the first input
  double epsilon = 1e-5;
  /// A `weight` and a `bias` for each channel.
  bool affine = true;
};

/// Over the channels of a group and everything behind them, each element of the batch by itself:
/// Wu and He 2018. Channels are dimension 1 of x, which has 2 dimensions or more.
class GroupNorm final : public Module {
 public:
  /// InvalidArgument unless the groups divide the channels, here or at the first call.
  explicit GroupNorm(std::int64_t groups, const GroupNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t channels) const;

  std::int64_t groups_;
  GroupNormOptions options_;
};

struct InstanceNormOptions {
  std::int64_t channels = 0;  ///< 0: those of the first input
  double epsilon = 1e-5;
  /// A `weight` and a `bias` for each channel; without, as PyTorch does it by default.
  bool affine = false;
};

/// A group for each channel: x has 3 dimensions or more. It keeps no running statistics.
class InstanceNorm final : public Module {
 public:
  explicit InstanceNorm(const InstanceNormOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t channels) const;

  InstanceNormOptions options_;
};

/// x [n, channels, ...] less its mean and divided by its deviation over each of `groups` groups of
/// channels, then times weight [channels] plus bias [channels] where those are defined.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double epsilon = 1e-5);

}  // namespace plimsoll::nn
