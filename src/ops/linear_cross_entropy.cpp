// linear_cross_entropy: the head of a language model, its loss and its gradients in one pass over
// chunks of tokens, so that the logits are never whole.
//
// Where a tape follows x or the weight, the op computes their gradients along with the loss, as
// the logits are there; for nobody else does it spend the time. They are those of the sum over
// tokens: dividing by the count waits until the gradient of the loss is known, so that a loss scale
// comes before 16 bits round.
#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/linear_cross_entropy_chunks.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tf32.h>

#include "ops/in_place.h"
#include "ops/sum_dtype.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> types(const OpInputs& inputs) {
  const Shape& x = inputs.shape(0);
  const Shape& weight = inputs.shape(1);
  if (inputs.dtype(1) != inputs.dtype(0)) inputs.fail("x and the weight need one dtype; cast one");
  inputs.require_rank(0, 2);
  inputs.require_rank(1, 2);
  if (x[1] != weight[1]) {
    inputs.fail(
        fmt::format("x has {} features, the weight [classes,features] takes {}", x[1], weight[1]));
  }
  if (inputs.dtype(2) != DType::i32 && inputs.dtype(2) != DType::i64) {
    inputs.fail("labels must be i32 or i64");
  }
  if (inputs.shape(2) != Shape{x[0]}) inputs.fail(fmt::format("labels must be [{}]", x[0]));
  if (weight[0] == 0 && x[0] != 0) inputs.fail("there are no classes");
  const DType sums = sum_dtype(inputs.dtype(0));
  const Attributes& attributes = inputs.attributes();
  return {{sums, {}},
          {sums, {}},
          {inputs.dtype(0), attributes.flag("with_dx") ? x : Shape{0}},
          {sums, attributes.flag("with_dweight") ? weight : Shape{0}}};
}

Cost cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  const double product =
      2.0 * static_cast<double>(inputs[0].elements()) * static_cast<double>(inputs.shape(1)[0]);
  Cost cost{.flops = product};
  for (const char* wanted : {"with_dx", "with_dweight"}) {
    if (inputs.attributes().flag(wanted)) cost.flops += product;
  }
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

const OpDef kGrad = {
    .name = "linear_cross_entropy_grad",
    .family = "linear_cross_entropy",
    .summary = "a gradient of the summed loss, times dloss / count",
    .inputs = 3,
    .types = [](const OpInputs& inputs) -> std::vector<TensorType> {
      const TensorType scalar{sum_dtype(inputs.dtype(0)), {}};
      if (inputs[1] != scalar || inputs[2] != scalar) {
        inputs.fail(fmt::format("dloss and count must be {}", scalar.to_string()));
      }
      return {{inputs.attributes().dtype("dtype"), inputs.shape(0)}};
    },
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
};

void loss_gradient(GradientContext& g) {
  if (g.has_grad(2) || g.has_grad(3)) {
    throw InvalidArgument("[linear_cross_entropy] has no second derivative; use cross_entropy");
  }
  if (!g.has_grad(0)) return;
  const std::array names = {"with_dx", "with_dweight"};
  for (int i = 0; i < 2; ++i) {
    if (!g.needs(i)) continue;
    if (!g.attributes().flag(names[static_cast<std::size_t>(i)])) {
      throw InvalidArgument(
          fmt::format("[linear_cross_entropy] was run without {}; watch its "
                      "inputs before it runs",
                      names[static_cast<std::size_t>(i)]));
    }
    g.set(i, call_one(kGrad, {g.output(2 + i), g.grad(0), g.output(1)},
                      {{"dtype", g.input_type(i).dtype}}));
  }
}

const OpDef kLinearCrossEntropy = {
    .name = "linear_cross_entropy",
    .family = "linear_cross_entropy",
    .summary = "mean cross-entropy of a linear head; also the labels that count, and gradients",
    .inputs = 3,
    .types = types,
    .gradient = loss_gradient,
    .kept =
        [](std::uint32_t needed) {
          return Kept{.outputs = 2U | (needed & 1U ? 4U : 0U) | (needed & 2U ? 8U : 0U)};
        },
    .cost = cost,
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return linear_cross_entropy_chunks(in.shape(0)[0], in.shape(0)[1], in.shape(1)[0],
                                             in.dtype(0))
              .total();
        },
    .precision = Precision::compute,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType>) {
          return GpuWork{HeadWork{.tokens = in.shape(0)[0],
                                  .features = in.shape(0)[1],
                                  .classes = in.shape(1)[0],
                                  .dtype = in.dtype(0),
                                  .tf32 = uses_tf32(in.attributes()),
                                  .with_dx = in.attributes().flag("with_dx"),
                                  .with_dweight = in.attributes().flag("with_dweight")}};
        },
};

constexpr std::array kLinearCrossEntropyOps = {&kLinearCrossEntropy, &kGrad};

const RegisterOps kLinearCrossEntropyRegistered(kLinearCrossEntropyOps);

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& labels) {
  const Dispatcher& dispatcher = Dispatcher::current();
  return call_one(
      kLinearCrossEntropy, {x, weight, labels},
      {{"with_dx", dispatcher.follows(x)}, {"with_dweight", dispatcher.follows(weight)}});
}

}  // namespace plimsoll::ops
