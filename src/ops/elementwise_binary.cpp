// add, sub, mul ...: two tensors, broadcast.
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {

void give_broadcast(GradientContext& g, int input, const Tensor& gradient) {
  g.set(input, sum_to(gradient, g.input_type(input).shape));
}

namespace {

Kept keeps_other(std::uint32_t needed) {
  return {.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
}
Kept keeps_both(std::uint32_t) { return {.inputs = 3}; }

constexpr OpDef binary_op(std::string_view name, std::string_view summary, GradientRule gradient,
                          KeptRule kept, DTypeSet dtypes = kNumbers) {
  return {.name = name,
          .family = "elementwise",
          .summary = summary,
          .inputs = 2,
          .dtypes = dtypes,
          .types = broadcast_types,
          .gradient = gradient,
          .kept = kept,
          .in_place = kOverEither,
          .cheap = true,
          .channels = {.rule = ChannelRule::pointwise}};
}

constexpr OpDef kAdd = binary_op(
    "add", "a + b",
    [](GradientContext& g) {
      if (g.needs(0)) give_broadcast(g, 0, g.grad());
      if (g.needs(1)) give_broadcast(g, 1, g.grad());
    },
    nullptr);

constexpr OpDef kSub = binary_op(
    "sub", "a - b",
    [](GradientContext& g) {
      if (g.needs(0)) give_broadcast(g, 0, g.grad());
      // The sum first: it is never larger.
      if (g.needs(1)) g.set(1, neg(sum_to(g.grad(), g.input_type(1).shape)));
    },
    nullptr);

constexpr OpDef kMul = binary_op(
    "mul", "a * b",
    [](GradientContext& g) {
      if (g.needs(0)) give_broadcast(g, 0, mul(g.grad(), g.input(1)));
      if (g.needs(1)) give_broadcast(g, 1, mul(g.grad(), g.input(0)));
    },
    keeps_other);

/// Of -dy y / b, where b broadcasts.
void div_grad_gradient(GradientContext& g) {
  static const OpDef& self = *find_op("div_grad");
  const Tensor product = mul(g.grad(), g.input(0));
  if (g.needs(0)) g.set(0, call_one(self, {g.grad(), g.input(1), g.input(2)}));
  if (g.needs(1)) g.set(1, neg(div(product, g.input(2))));
  if (g.needs(2)) give_broadcast(g, 2, div(mul(product, g.input(1)), square(g.input(2))));
}
constexpr OpDef kDivGrad = [] {
  OpDef def = binary_grad_op("div_grad", "the gradient of a / b by b, from y and b");
  def.gradient = div_grad_gradient;
  def.kept = [](std::uint32_t) { return Kept{.inputs = 7}; };
  return def;
}();
constexpr OpDef kDiv = binary_op(
    "div", "a / b",
    [](GradientContext& g) {
      if (g.needs(0)) give_broadcast(g, 0, div(g.grad(), g.input(1)));
      if (g.needs(1)) give_broadcast(g, 1, call_one(kDivGrad, {g.grad(), g.output(0), g.input(1)}));
    },
    [](std::uint32_t needed) {
      return Kept{.inputs = 2, .outputs = (needed & 2U) != 0 ? 1U : 0U};
    });

template <const OpDef& Grad>
void larger_or_smaller_gradient(GradientContext& g) {
  for (const int i : {0, 1}) {
    if (!g.needs(i)) continue;
    give_broadcast(g, i, call_one(Grad, {g.grad(), g.input(0), g.input(1)}, {{"second", i == 1}}));
  }
}
constexpr OpDef kMaximumGrad = binary_grad_op("maximum_grad", "dy where that input was the larger");
constexpr OpDef kMinimumGrad =
    binary_grad_op("minimum_grad", "dy where that input was the smaller");
constexpr OpDef kMaximum =
    binary_op("maximum", "the larger", larger_or_smaller_gradient<kMaximumGrad>, keeps_both);
constexpr OpDef kMinimum =
    binary_op("minimum", "the smaller", larger_or_smaller_gradient<kMinimumGrad>, keeps_both);

/// Of dy b a^(b-1): by a it is the same with dy b for dy, and b - 1 for b.
void pow_grad_gradient(GradientContext& g) {
  static const OpDef& self = *find_op("pow_grad");
  const Tensor& a = g.input(1);
  const Tensor& b = g.input(2);
  if (g.needs(0)) g.set(0, call_one(self, {g.grad(), a, b}));
  if (!g.needs(1) && !g.needs(2)) return;
  const Tensor product = mul(g.grad(), g.input(0));
  if (g.needs(1)) give_broadcast(g, 1, call_one(self, {mul(product, b), a, shift(b, -1)}));
  if (g.needs(2)) {
    const Tensor slope = shift(mul(b, log(a)), 1);
    give_broadcast(g, 2, mul(product, mul(pow(a, shift(b, -1)), slope)));
  }
}
constexpr OpDef kPowGrad = [] {
  OpDef def = binary_grad_op("pow_grad", "the gradient of pow by a, from a and b");
  def.gradient = pow_grad_gradient;
  def.kept = [](std::uint32_t) { return Kept{.inputs = 7}; };
  return def;
}();
constexpr OpDef kPowExponentGrad =
    binary_grad_op("pow_exponent_grad", "the gradient of pow by b, from y and a");
constexpr OpDef kPow = [] {
  OpDef def = binary_op(
      "pow", "a to the b",
      [](GradientContext& g) {
        if (g.needs(0)) {
          give_broadcast(g, 0, call_one(kPowGrad, {g.grad(), g.input(0), g.input(1)}));
        }
        if (g.needs(1)) {
          give_broadcast(g, 1, call_one(kPowExponentGrad, {g.grad(), g.output(0), g.input(0)}));
        }
      },
      [](std::uint32_t needed) {
        const bool by_exponent = (needed & 2U) != 0;
        return Kept{.inputs = (needed & 1U) != 0 ? 3U : 1U, .outputs = by_exponent ? 1U : 0U};
      },
      kFloats);
  def.precision = Precision::full;
  return def;
}();

constexpr std::array kElementwiseBinaryOps = {
    &kAdd,     &kSub,         &kMul,         &kDiv, &kDivGrad, &kMaximum,
    &kMinimum, &kMaximumGrad, &kMinimumGrad, &kPow, &kPowGrad, &kPowExponentGrad};

const RegisterOps kElementwiseBinaryRegistered(kElementwiseBinaryOps);

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return call_one(kAdd, {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return call_one(kSub, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return call_one(kMul, {a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return call_one(kDiv, {a, b}); }
Tensor maximum(const Tensor& a, const Tensor& b) { return call_one(kMaximum, {a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return call_one(kMinimum, {a, b}); }
Tensor pow(const Tensor& a, const Tensor& b) { return call_one(kPow, {a, b}); }

}  // namespace plimsoll::ops
