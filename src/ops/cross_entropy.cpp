// Cross-entropy from logits. Only inputs are kept: the gradient finds each row's sum again while
// the row is in the cache.
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

#include "ops/in_place.h"

namespace plimsoll::ops {
namespace {

/// A loss per row: logits without their last dimension, at least f32.
TensorType loss_type(const OpInputs& inputs) {
  const Shape& logits = inputs.shape(0);
  if (logits.rank() == 0) inputs.fail("logits need a dimension of classes");
  return {std::min(inputs.dtype(0), DType::f32), logits.with_removed(logits.rank() - 1)};
}

void check_labels(const OpInputs& inputs, int labels) {
  if (inputs.dtype(labels) != DType::i64 && inputs.dtype(labels) != DType::i32) {
    inputs.fail(is_floating(inputs.dtype(labels)) && inputs.shape(labels) == inputs.shape(0)
                    ? "labels must be i64 or i32; for a distribution use cross_entropy_dense"
                    : "labels must be i64 or i32; cast them: cast(labels, dtype)");
  }
  const Shape rows = loss_type(inputs).shape;
  if (inputs.shape(labels) != rows) {
    const bool as_many = inputs.shape(labels).elements() == rows.elements();
    const char* remedy = as_many ? "; reshape them, or squeeze what is 1" : "";
    if (inputs.shape(labels) == inputs.shape(0)) {
      remedy = "; for one-hot labels take their argmax, or cast them to f32";
    }
    inputs.fail(fmt::format("labels must have shape {}{}", rows.to_string(), remedy));
  }
  const double smoothing = inputs.attributes().number("smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) inputs.fail("smoothing must be between 0 and 1");
}

void check_targets(const OpInputs& inputs) {
  if (inputs[0] != inputs[1]) inputs.fail("logits and targets differ in type");
}

std::vector<TensorType> cross_entropy_grad_types(const OpInputs& inputs, int loss) {
  if (inputs[loss] != loss_type(inputs)) {
    inputs.fail(fmt::format("the gradient of the loss must be {}", loss_type(inputs).to_string()));
  }
  return {inputs[0]};
}

Cost cross_entropy_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost{.flops = 12.0 * static_cast<double>(inputs[0].elements())};
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Kept keeps_inputs(std::uint32_t) { return {.inputs = 3}; }

const OpDef kCrossEntropyGrad = {
    .name = "cross_entropy_grad",
    .family = "softmax",
    .summary = "(softmax(logits) - smoothed label) * dloss",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          check_labels(inputs, 1);
          return cross_entropy_grad_types(inputs, 2);
        },
    .cost = cross_entropy_cost,
    .in_place = kOverFirst,
    .precision = Precision::keep,
};

const OpDef kCrossEntropy = {
    .name = "cross_entropy",
    .family = "softmax",
    .summary = "log(sum(exp(logits))) - logits[label] per row",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          check_labels(inputs, 1);
          return std::vector<TensorType>{loss_type(inputs)};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kCrossEntropyGrad, {g.input(0), g.input(1), g.grad()}, g.attributes()));
        },
    .kept = keeps_inputs,
    .cost = cross_entropy_cost,
    .precision = Precision::keep,
    .compares_logits = true,
};

const OpDef kCrossEntropyDenseGrad = {
    .name = "cross_entropy_dense_grad",
    .family = "softmax",
    .summary = "(softmax(logits) * sum(targets) - targets) * dloss",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          check_targets(inputs);
          return cross_entropy_grad_types(inputs, 2);
        },
    .cost = cross_entropy_cost,
    .in_place = kOverFirst,
    .precision = Precision::keep,
};

const OpDef kCrossEntropyDense = {
    .name = "cross_entropy_dense",
    .family = "softmax",
    .summary = "sum(targets * (log(sum(exp(logits))) - logits)) per row",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          check_targets(inputs);
          return std::vector<TensorType>{loss_type(inputs)};
        },
    .gradient =
        [](GradientContext& g) {
          if (g.needs(0)) {
            g.set(0, call_one(kCrossEntropyDenseGrad, {g.input(0), g.input(1), g.grad()}));
          }
          if (g.needs(1)) {
            const TensorType& type = g.input_type(1);
            const Tensor loss = cast(neg(g.grad()), type.dtype);
            const Tensor rows = reshape(loss, type.shape.with_dim(-1, 1));
            g.set(1, mul(log_softmax(g.input(0)), rows));
          }
        },
    .kept = keeps_inputs,
    .cost = cross_entropy_cost,
};

constexpr std::array kCrossEntropyOps = {&kCrossEntropy, &kCrossEntropyGrad, &kCrossEntropyDense,
                                         &kCrossEntropyDenseGrad};

const RegisterOps kCrossEntropyRegistered(kCrossEntropyOps);

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing) {
  return call_one(kCrossEntropy, {logits, labels}, {{"smoothing", smoothing}});
}

Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets) {
  return call_one(kCrossEntropyDense, {logits, targets});
}

}  // namespace plimsoll::ops
