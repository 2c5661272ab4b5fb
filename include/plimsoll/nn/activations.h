#pragma once

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/gated.h>

// Activations beyond those of ops/elementwise.h (relu, leaky_relu, elu, sigmoid, tanh, silu,
// softplus, gelu) and gated units, as functions and as modules for a Sequential. All are written in
// ops: they trace, carry gradients, and run on every device.

namespace plimsoll::nn {

/// 1.0507 x where x > 0, else 1.0507 * 1.6733 (exp(x) - 1): Klambauer et al. 2017.
Tensor selu(const Tensor& x);
/// x where x > 0, else alpha (exp(x / alpha) - 1). InvalidArgument unless alpha is above 0.
Tensor celu(const Tensor& x, double alpha = 1.0);
/// x tanh(softplus(x)): Misra 2019.
Tensor mish(const Tensor& x);
// Where the next four bend, no gradient flows through the bound, as in PyTorch.

/// x / 6 + 1 / 2, within [0, 1].
Tensor hard_sigmoid(const Tensor& x);
/// x hard_sigmoid(x).
Tensor hard_swish(const Tensor& x);
/// x within [-1, 1].
Tensor hard_tanh(const Tensor& x);
/// relu(x), but at most 6.
Tensor relu6(const Tensor& x);
/// log(sigmoid(x)), without overflow at either end.
Tensor log_sigmoid(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// x where x > 0, else slope x. `slope` has one element, or one for each channel, which are
/// dimension 1 of x; else InvalidArgument.
Tensor prelu(const Tensor& x, const Tensor& slope);

using ops::Gate;
using ops::gated;
/// The halves a and b of x along `axis`, as a * gate(b): PyTorch's glu, with another gate if so
/// asked. InvalidArgument if the axis has an odd extent.
Tensor glu(const Tensor& x, int axis = -1, Gate gate = Gate::sigmoid);
Tensor swiglu(const Tensor& x, int axis = -1);
Tensor geglu(const Tensor& x, int axis = -1);

class LeakyReLU final : public Module {
 public:
  explicit LeakyReLU(double slope = 0.01) : slope_(slope) {}
  Tensor forward(const Tensor& x) const override { return ops::leaky_relu(x, slope_); }

 private:
  double slope_;
};
class ELU final : public Module {
 public:
  explicit ELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override { return ops::elu(x, alpha_); }

 private:
  double alpha_;
};
class SELU final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return selu(x); }
};
class CELU final : public Module {
 public:
  explicit CELU(double alpha = 1.0) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) const override { return celu(x, alpha_); }

 private:
  double alpha_;
};
class Softplus final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return ops::softplus(x); }
};
class Mish final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return mish(x); }
};
class HardSigmoid final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return hard_sigmoid(x); }
};
class HardSwish final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return hard_swish(x); }
};
class HardTanh final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return hard_tanh(x); }
};
class ReLU6 final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return relu6(x); }
};
class LogSigmoid final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return log_sigmoid(x); }
};
class Softsign final : public Module {
 public:
  Tensor forward(const Tensor& x) const override { return softsign(x); }
};

/// prelu() with a slope `weight` that is learned, [1] or [channels].
class PReLU final : public Module {
 public:
  explicit PReLU(std::int64_t channels = 1, double slope = 0.25);
  Tensor forward(const Tensor& x) const override;

 private:
  Parameter weight_;
};

/// glu() along `axis`, with any gate.
class GLU final : public Module {
 public:
  explicit GLU(int axis = -1, Gate gate = Gate::sigmoid) : axis_(axis), gate_(gate) {}
  Tensor forward(const Tensor& x) const override { return glu(x, axis_, gate_); }

 private:
  int axis_;
  Gate gate_;
};

}  // namespace plimsoll::nn
