// argmax, top_k: where the largest are.
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/reduce.h>

#include "ops/bools.h"

namespace plimsoll::ops {
namespace {

constexpr OpDef kArgmax = {
    .name = "argmax",
    .family = "reduce",
    .summary = "the index of the largest along a dimension",
    .dtypes = kNumbers,
    .types =
        [](const OpInputs& inputs) {
          const std::int64_t axis = inputs.attributes().integer("axis");
          const Shape& shape = inputs.shape(0);
          if (axis < 0 || axis >= shape.rank()) inputs.fail("there is no such axis");
          if (shape[static_cast<int>(axis)] == 0)
            inputs.fail("there are no elements to choose from");
          return std::vector<TensorType>{{DType::i64, shape.with_removed(static_cast<int>(axis))}};
        },
    .cheap = true,
};

constexpr OpDef kTopKGrad = {
    .name = "top_k_grad",
    .family = "reduce",
    .summary = "dy at the indices that top_k gave, else 0",
    .inputs = 2,
    .types =
        [](const OpInputs& inputs) {
          const std::int64_t size = inputs.attributes().integer("size");
          if (inputs.dtype(1) != DType::i64 || inputs.shape(0) != inputs.shape(1) ||
              inputs.shape(0).rank() == 0) {
            inputs.fail("indices must be i64 of dy's shape");
          }
          return std::vector<TensorType>{{inputs.dtype(0), inputs.shape(0).with_dim(-1, size)}};
        },
    .precision = Precision::keep,
};

constexpr OpDef kTopK = {
    .name = "top_k",
    .family = "reduce",
    .summary = "the k largest along the last dimension, and their indices",
    .dtypes = kNumbers,
    .types =
        [](const OpInputs& inputs) {
          const std::int64_t k = inputs.attributes().integer("k");
          if (inputs.shape(0).rank() == 0) inputs.fail("a scalar has no last dimension");
          const std::int64_t size = inputs.shape(0).dim(-1);
          if (k < 0 || k > size)
            inputs.fail(fmt::format("k must be from 0 to {}, not {}", size, k));
          const Shape shape = inputs.shape(0).with_dim(-1, k);
          return std::vector<TensorType>{{inputs.dtype(0), shape}, {DType::i64, shape}};
        },
    .gradient =
        [](GradientContext& g) {
          const std::int64_t size = g.input_type(0).shape.dim(-1);
          g.set(0, call_one(kTopKGrad, {g.grad(0), g.output(1)}, {{"size", size}}));
        },
    .kept = [](std::uint32_t) { return Kept{.outputs = 2}; },
};

constexpr std::array kReduceIndexOps = {&kArgmax, &kTopK, &kTopKGrad};

const RegisterOps kReduceIndexRegistered(kReduceIndexOps);

}  // namespace

Tensor argmax(const Tensor& x, int axis) {
  const std::int64_t from_front = axis < 0 ? axis + x.rank() : axis;
  return call_one(kArgmax, {bools_as(x, DType::u8)}, {{"axis", from_front}});
}

std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k) {
  auto outputs = call(kTopK, std::span<const Tensor>(&x, 1), {{"k", k}});
  return {outputs[0], outputs[1]};
}

}  // namespace plimsoll::ops
