// softmax and log_softmax. Both keep their output only.
#include <plimsoll/ops/softmax.h>

#include <array>

#include <plimsoll/ops/dispatcher.h>

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

const OpDef kSoftmaxGrad = {
    .name = "softmax_grad",
    .family = "softmax",
    .summary = "y * (dy - sum(dy * y))",
    .inputs = 2,
    .types = softmax_grad_types,
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
