#include <plimsoll/nn/activations.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/shape_ops.h>

#include "nn/number.h"

namespace plimsoll::nn {
namespace {

// Klambauer et al. 2017.
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

/// x within [low, high]. As in PyTorch, no gradient flows at the ends, where that of ops::clip
/// does: maximum and minimum give it to their first operand.
Tensor within(const Tensor& x, double low, double high) {
  return ops::minimum(number(x, high), ops::maximum(number(x, low), x));
}

}  // namespace

Tensor selu(const Tensor& x) { return ops::scale(ops::elu(x, kSeluAlpha), kSeluScale); }

Tensor celu(const Tensor& x, double alpha) {
  if (!(alpha > 0)) {
    throw InvalidArgument(fmt::format("[celu] alpha is {}; it must be above 0", alpha));
  }
  return ops::scale(ops::elu(ops::scale(x, 1 / alpha), 1), alpha);
}

Tensor mish(const Tensor& x) {
  return ops::mul(x, ops::cast(ops::tanh(ops::softplus(x)), x.dtype()));
}

// The bounds come first: in 16 bits x / 6 + 1 / 2 is rounded to 1 for x below 3.
Tensor hard_sigmoid(const Tensor& x) {
  return ops::shift(ops::scale(within(x, -3, 3), 1.0 / 6), 0.5);
}
Tensor hard_swish(const Tensor& x) { return ops::mul(x, hard_sigmoid(x)); }
Tensor hard_tanh(const Tensor& x) { return within(x, -1, 1); }
Tensor relu6(const Tensor& x) { return within(x, 0, 6); }
Tensor log_sigmoid(const Tensor& x) { return ops::neg(ops::softplus(ops::neg(x))); }
Tensor softsign(const Tensor& x) { return ops::div(x, ops::shift(ops::abs(x), 1)); }

Tensor prelu(const Tensor& x, const Tensor& slope) {
  const std::int64_t slopes = slope.elements();
  if (slopes != 1 && (x.rank() < 2 || x.dim(1) != slopes)) {
    throw InvalidArgument(
        fmt::format("[prelu] {} slopes for x {}; give one, or one for each channel (dimension 1)",
                    slopes, x.type().to_string()));
  }
  Shape aligned;
  for (int i = 0; i < x.rank(); ++i) aligned = aligned.with_inserted(i, i == 1 ? slopes : 1);
  if (slopes == 1) aligned = Shape{};
  const Tensor each = ops::cast(ops::reshape(slope, aligned), x.dtype());
  // -relu(-x) is x where it is negative, with no gradient by either side at 0.
  return ops::sub(ops::relu(x), ops::mul(each, ops::relu(ops::neg(x))));
}

Tensor glu(const Tensor& x, int axis, Gate gate) {
  const int at = x.shape().index(axis);
  const std::int64_t half = x.dim(at) / 2;
  if (x.dim(at) % 2 != 0) {
    throw InvalidArgument(
        fmt::format("[glu] dimension {} of {} is odd; it is divided into values and gate", at,
                    x.type().to_string()));
  }
  if (at == x.rank() - 1) return ops::glu(x, gate);
  const std::vector<Tensor> halves = ops::split(x, {half, half}, at);
  return gated(halves[1], halves[0], gate);
}

Tensor swiglu(const Tensor& x, int axis) { return glu(x, axis, Gate::silu); }
Tensor geglu(const Tensor& x, int axis) { return glu(x, axis, Gate::gelu); }

PReLU::PReLU(std::int64_t channels, double slope)
    : weight_(parameter("weight", {channels}, Init::constant(slope))) {}

Tensor PReLU::forward(const Tensor& x) const { return prelu(x, weight_); }

}  // namespace plimsoll::nn
