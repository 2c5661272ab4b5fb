// Connectionist temporal classification. Only inputs are kept: the gradient finds the sums over
// alignments again, which are larger than the log probabilities where there are few classes.
#include <plimsoll/ops/ctc.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>

#include "ops/in_place.h"

namespace plimsoll::ops {
namespace {

constexpr DTypeSet kCtcDTypes = {DType::f64, DType::f32};

/// A loss for each sequence.
TensorType ctc_loss_type(const OpInputs& inputs) {
  inputs.require_rank(0, 3);
  inputs.require_rank(1, 2);
  const std::int64_t n = inputs.shape(0).dim(0);
  const DType index = inputs.dtype(1);
  if (index != DType::i64 && index != DType::i32) inputs.fail("labels must be i64 or i32");
  if (inputs.dtype(2) != index || inputs.dtype(3) != index) {
    inputs.fail("labels and lengths must have the same dtype");
  }
  if (inputs.shape(1).dim(0) != n) {
    inputs.fail(fmt::format("there must be {} rows of labels, one for each sequence", n));
  }
  if (inputs.shape(2) != Shape{n} || inputs.shape(3) != Shape{n}) {
    inputs.fail(fmt::format("lengths must have shape [{}], one for each sequence", n));
  }
  const std::int64_t classes = inputs.shape(0).dim(2);
  const std::int64_t blank = inputs.attributes().integer("blank");
  if (blank < 0 || blank >= classes) {
    inputs.fail(fmt::format("the blank is class {} of {}; it must be one of them", blank, classes));
  }
  (void)inputs.attributes().flag("zero_infinity");
  return {inputs.dtype(0), {n}};
}

Cost ctc_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  // Three exponentials and a logarithm for each step and state, of which there are two a label.
  constexpr double kFlops = 60;
  const Shape& log_probs = inputs.shape(0);
  const double states = 2.0 * static_cast<double>(inputs.shape(1).dim(1)) + 1;
  const auto steps = static_cast<double>(log_probs.dim(0) * log_probs.dim(1));
  Cost cost{.flops = kFlops * steps * states};
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

const OpDef kCtcLossGrad = {
    .name = "ctc_loss_grad",
    .family = "ctc",
    .summary = "-dloss times the share of alignments with a class at a step",
    .inputs = 5,
    .dtypes = kCtcDTypes,
    .types =
        [](const OpInputs& inputs) {
          const TensorType loss = ctc_loss_type(inputs);
          if (inputs[4] != loss) {
            inputs.fail(fmt::format("the gradient of the loss must be {}", loss.to_string()));
          }
          return std::vector<TensorType>{inputs[0]};
        },
    .cost = ctc_cost,
    .in_place = kOverFirst,
    .precision = Precision::full,
};

const OpDef kCtcLoss = {
    .name = "ctc_loss",
    .family = "ctc",
    .summary = "-log(probability of the labels), over all alignments with the steps",
    .inputs = 4,
    .dtypes = kCtcDTypes,
    .types = [](const OpInputs& inputs) { return std::vector<TensorType>{ctc_loss_type(inputs)}; },
    .gradient =
        [](GradientContext& g) {
          g.set(0,
                call_one(kCtcLossGrad, {g.input(0), g.input(1), g.input(2), g.input(3), g.grad()},
                         g.attributes()));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 15}; },
    .cost = ctc_cost,
    .precision = Precision::full,
};

constexpr std::array kCtcOps = {&kCtcLoss, &kCtcLossGrad};
const RegisterOps kCtcRegistered(kCtcOps);

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& label_lengths, const CtcOptions& options) {
  return call_one(kCtcLoss, {log_probs, labels, input_lengths, label_lengths},
                  {{"blank", options.blank}, {"zero_infinity", options.zero_infinity}});
}

}  // namespace plimsoll::ops
