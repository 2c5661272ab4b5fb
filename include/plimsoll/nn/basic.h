#pragma once

#include <functional>
#include <string>

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/elementwise.h>

namespace plimsoll::nn {

/// [n, everything else]
class Flatten final : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

/// In training, each element is 0 with probability `rate`, and the others are divided by 1 - rate.
class Dropout final : public Module {
 public:
  /// 0 <= rate < 1; else InvalidArgument.
  explicit Dropout(double rate);
  Tensor forward(const Tensor& x) const override;

 private:
  double rate_;
};

/// Any function of one tensor as a module: an activation in a Sequential.
class Lambda final : public Module {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  explicit Lambda(Function function) : function_(std::move(function)) {}
  Tensor forward(const Tensor& x) const override { return function_(x); }

 private:
  Function function_;
};

class ReLU final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return ops::relu(x); }
};
class Tanh final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return ops::tanh(x); }
};
class Sigmoid final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return ops::sigmoid(x); }
};
class SiLU final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return ops::silu(x); }
};
class GELU final : public Module {
 public:
  explicit GELU(ops::Gelu form = ops::Gelu::exact) : form_(form) {}
  Tensor forward(const Tensor& x) const override { return ops::gelu(x, form_); }

 private:
  ops::Gelu form_;
};

}  // namespace plimsoll::nn
