#pragma once

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// Whole elements of the batch x [n, ...] become 0 with probability `rate`, and the others are
/// divided by 1 - rate: stochastic depth, Huang et al. 2016. `x` itself for rate 0; InvalidArgument
/// unless the rate is in [0, 1).
Tensor drop_path(const Tensor& x, double rate);

/// The same in training, and nothing in evaluation.
class DropPath final : public Module {
 public:
  explicit DropPath(double rate);
  Tensor forward(const Tensor& x) const override;

 private:
  double rate_;
};

}  // namespace plimsoll::nn
