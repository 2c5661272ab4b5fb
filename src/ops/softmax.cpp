// softmax and log_softmax. Both keep their output only.
#include <plimsoll/ops/softmax.h>

#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>

#include "ops/axis.h"
#include "ops/in_place.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> softmax_types(const OpInputs& inputs) {
  axis_of(inputs, inputs.shape(0).rank());
  return {inputs[0]};
}

std::vector<TensorType> softmax_grad_types(const OpInputs& inputs) {
  if (inputs[0] != inputs[1]) inputs.fail("the gradient and the result differ in type");
  return softmax_types(inputs);
}

Cost softmax_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  return {.flops = 12.0 * static_cast<double>(outputs[0].elements()),
          .bytes = static_cast<double>(static_cast<Bytes>(inputs.count()) * inputs[0].bytes() +
                                       outputs[0].bytes())};
}

Kept keeps_output(std::uint32_t) { return {.outputs = 1}; }

Tensor row_sums(const GradientContext& g, const Tensor& x) {
  return sum(x, {.axes = {g.attributes().integer("axis")}, .keep_dims = true});
}

/// Of y (dy - sum(dy y)), whose matrix by dy is symmetric.
void softmax_grad_gradient(GradientContext& g) {
  static const OpDef& self = *find_op("softmax_grad");
  const Tensor by = g.grad();
  const Tensor& y = g.input(1);
  if (g.needs(0)) g.set(0, call_one(self, {by, y}, g.attributes()));
  if (!g.needs(1)) return;
  const Tensor& dy = g.input(0);
  g.set(1, sub(mul(by, sub(dy, row_sums(g, mul(dy, y)))), mul(dy, row_sums(g, mul(by, y)))));
}

/// Of dy - exp(y) sum(dy).
void log_softmax_grad_gradient(GradientContext& g) {
  const Tensor weighed = mul(g.grad(), exp(g.input(1)));
  if (g.needs(0)) g.set(0, sub(g.grad(), row_sums(g, weighed)));
  if (g.needs(1)) g.set(1, neg(mul(weighed, row_sums(g, g.input(0)))));
}

Kept softmax_grad_keeps(std::uint32_t needed) { return {.inputs = (needed & 2U) != 0 ? 3U : 2U}; }

const OpDef kSoftmaxGrad = {
    .name = "softmax_grad",
    .family = "softmax",
    .summary = "y * (dy - sum(dy * y))",
    .inputs = 2,
    .types = softmax_grad_types,
    .gradient = softmax_grad_gradient,
    .kept = softmax_grad_keeps,
    .cost = softmax_cost,
    .in_place = kOverEither,
};

const OpDef kSoftmax = {
    .name = "softmax",
    .family = "softmax",
    .summary = "exp(x) / sum(exp(x)) along a dimension",
    .types = softmax_types,
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kSoftmaxGrad, {g.grad(), g.output(0)}, g.attributes()));
        },
    .kept = keeps_output,
    .cost = softmax_cost,
    .in_place = kOverFirst,
    .cheap = true,
};

const OpDef kLogSoftmaxGrad = {
    .name = "log_softmax_grad",
    .family = "softmax",
    .summary = "dy - exp(y) * sum(dy)",
    .inputs = 2,
    .types = softmax_grad_types,
    .gradient = log_softmax_grad_gradient,
    .kept = softmax_grad_keeps,
    .cost = softmax_cost,
    .in_place = kOverEither,
};

const OpDef kLogSoftmax = {
    .name = "log_softmax",
    .family = "softmax",
    .summary = "x - log(sum(exp(x))) along a dimension",
    .types = softmax_types,
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kLogSoftmaxGrad, {g.grad(), g.output(0)}, g.attributes()));
        },
    .kept = keeps_output,
    .cost = softmax_cost,
    .in_place = kOverFirst,
    .cheap = true,
};

constexpr std::array kSoftmaxOps = {&kSoftmax, &kSoftmaxGrad, &kLogSoftmax, &kLogSoftmaxGrad};

const RegisterOps kSoftmaxRegistered(kSoftmaxOps);

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  return call_one(kSoftmax, {x}, {{"axis", axis_from_front(axis, x.rank())}});
}

Tensor log_softmax(const Tensor& x, int axis) {
  return call_one(kLogSoftmax, {x}, {{"axis", axis_from_front(axis, x.rank())}});
}

}  // namespace plimsoll::ops
