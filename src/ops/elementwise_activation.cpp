// relu, gelu ...: activations. Each gradient is one pass over dy and what was kept: the output
// where the derivative is a function of it, as something else often keeps that anyway.
#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

Tensor elu_slope(const Tensor& product, const Tensor& y) {
  return call_one(*find_op("relu_grad"), {product, neg(y)});
}
Tensor sigmoid_slope(const Tensor& product, const Tensor& y) {
  return sub(product, scale(mul(product, y), 2));
}
Tensor tanh_slope(const Tensor& product, const Tensor& y) { return scale(mul(product, y), -2); }
Tensor silu_slope(const Tensor& product, const Tensor& x) {
  const Tensor s = sigmoid(x);
  const Tensor bend = shift(mul(x, shift(scale(s, -2), 1)), 2);
  return mul(mul(product, sub(s, square(s))), bend);
}
Tensor softplus_slope(const Tensor& product, const Tensor& x) {
  const Tensor s = sigmoid(x);
  return mul(product, sub(s, square(s)));
}

constexpr OpDef kReluGrad =
    unary_grad_op("relu_grad", "dy where y > 0, else 0", second<"relu_grad">);
constexpr OpDef kLeakyReluGrad =
    unary_grad_op("leaky_relu_grad", "dy where y > 0, else dy * slope", second<"leaky_relu_grad">);
constexpr OpDef kEluGrad =
    unary_grad_op("elu_grad", "the gradient of elu from y", second<"elu_grad", elu_slope>);
constexpr OpDef kSigmoidGrad = unary_grad_op("sigmoid_grad", "the gradient of sigmoid from y",
                                             second<"sigmoid_grad", sigmoid_slope>);
constexpr OpDef kTanhGrad =
    unary_grad_op("tanh_grad", "the gradient of tanh from y", second<"tanh_grad", tanh_slope>);
constexpr OpDef kSiluGrad =
    unary_grad_op("silu_grad", "the gradient of silu from x", second<"silu_grad", silu_slope>);
constexpr OpDef kSoftplusGrad = unary_grad_op("softplus_grad", "the gradient of softplus from x",
                                              second<"softplus_grad", softplus_slope>);
constexpr OpDef kGeluGrad = unary_grad_op("gelu_grad", "the gradient of gelu from x");

/// The output tells the sides of zero apart only if the number is not negative.
std::vector<TensorType> types_if_not_negative(const OpInputs& inputs, std::string_view number) {
  const double value = inputs.attributes().number(number);
  if (!(value >= 0)) inputs.fail(fmt::format("{} must be at least 0, not {}", number, value));
  return {inputs[0]};
}

constexpr OpDef kRelu = unary_op("relu", "max(x, 0)", from_output<kReluGrad>, keeps_output);
constexpr OpDef kLeakyRelu = [] {
  OpDef def = unary_op("leaky_relu", "x where x > 0, else x * slope", from_output<kLeakyReluGrad>,
                       keeps_output);
  def.types = [](const OpInputs& inputs) { return types_if_not_negative(inputs, "slope"); };
  return def;
}();
constexpr OpDef kElu = [] {
  OpDef def = unary_op("elu", "x where x > 0, else alpha * (exp(x) - 1)", from_output<kEluGrad>,
                       keeps_output);
  def.types = [](const OpInputs& inputs) { return types_if_not_negative(inputs, "alpha"); };
  return def;
}();
constexpr OpDef kSigmoid =
    unary_op("sigmoid", "1 / (1 + exp(-x))", from_output<kSigmoidGrad>, keeps_output);
constexpr OpDef kTanh =
    unary_op("tanh", "the hyperbolic tangent", from_output<kTanhGrad>, keeps_output);
constexpr OpDef kSilu = unary_op("silu", "x * sigmoid(x)", from_input<kSiluGrad>, keeps_input);
constexpr OpDef kSoftplus = unary_op("softplus", "log(1 + exp(x))", from_input<kSoftplusGrad>,
                                     keeps_input, kFloats, Precision::full);
constexpr OpDef kGelu = unary_op("gelu", "x times the normal distribution's share below x",
                                 from_input<kGeluGrad>, keeps_input);

constexpr std::array kElementwiseActivationOps = {
    &kRelu,     &kReluGrad,     &kLeakyRelu, &kLeakyReluGrad, &kElu,  &kEluGrad,
    &kSigmoid,  &kSigmoidGrad,  &kTanh,      &kTanhGrad,      &kSilu, &kSiluGrad,
    &kSoftplus, &kSoftplusGrad, &kGelu,      &kGeluGrad};

const RegisterOps kElementwiseActivationRegistered(kElementwiseActivationOps);

}  // namespace

Tensor relu(const Tensor& x) { return call_one(kRelu, {x}); }
Tensor leaky_relu(const Tensor& x, double slope) {
  return call_one(kLeakyRelu, {x}, {{"slope", slope}});
}
Tensor elu(const Tensor& x, double alpha) { return call_one(kElu, {x}, {{"alpha", alpha}}); }
Tensor sigmoid(const Tensor& x) { return call_one(kSigmoid, {x}); }
Tensor tanh(const Tensor& x) { return call_one(kTanh, {x}); }
Tensor silu(const Tensor& x) { return call_one(kSilu, {x}); }
Tensor softplus(const Tensor& x) { return call_one(kSoftplus, {x}); }
Tensor gelu(const Tensor& x, Gelu form) {
  return call_one(kGelu, {x}, {{"tanh", form == Gelu::tanh}});
}

}  // namespace plimsoll::ops
