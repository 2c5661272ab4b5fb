// sort and argsort.
#include <array>
#include <numeric>

#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/sort_workspace.h>

#include "ops/axis.h"

namespace plimsoll::ops {
namespace {

const OpDef kSort = {
    .name = "sort",
    .family = "sort",
    .summary = "the last dimension in order, and where its elements were; equal ones keep theirs",
    .dtypes = kNumbers,
    .types =
        [](const OpInputs& inputs) {
          if (inputs.shape(0).rank() == 0) inputs.fail("a scalar has no dimension to sort");
          (void)inputs.attributes().flag("descending");
          return std::vector<TensorType>{inputs[0], {DType::i64, inputs.shape(0)}};
        },
    .gradient =
        [](GradientContext& g) {
          const std::int64_t size = g.input_type(0).shape.dim(-1);
          g.set(0, call_one(*find_op("top_k_grad"), {g.grad(0), g.output(1)}, {{"size", size}}));
        },
    .kept = [](std::uint32_t) { return Kept{.outputs = 2}; },
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          double rounds = 1;
          for (std::int64_t n = inputs.shape(0).dim(-1); n > 1; n /= 2) rounds += 1;
          return Cost{.flops = rounds * static_cast<double>(inputs[0].elements()),
                      .bytes = rounds * static_cast<double>(outputs[1].bytes())};
        },
    .workspace =
        [](const OpInputs& inputs, std::span<const TensorType>) {
          return sort_workspace(inputs[0].elements(), inputs.shape(0).dim(-1));
        },
};

constexpr std::array kSortOps = {&kSort};
const RegisterOps kSortRegistered(kSortOps);

/// x with dimensions `axis` and the last exchanged; itself where they are one.
Tensor with_last(const Tensor& x, int axis) {
  if (axis == x.rank() - 1) return x;
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  return transpose(x, order);
}

}  // namespace

std::pair<Tensor, Tensor> sort(const Tensor& x, int axis, const SortOptions& options) {
  if (x.dtype() == DType::boolean) {
    const auto [values, places] = sort(cast(x, DType::u8), axis, options);
    return {cast(values, DType::boolean), places};
  }
  const int at = x.rank() == 0 ? 0 : x.shape().index(axis);
  const Tensor rows = x.rank() == 0 ? x : with_last(x, at);
  const auto sorted =
      call(kSort, std::span<const Tensor>(&rows, 1), {{"descending", options.descending}});
  return {with_last(sorted[0], at), with_last(sorted[1], at)};
}

Tensor argsort(const Tensor& x, int axis, const SortOptions& options) {
  return sort(x, axis, options).second;
}

}  // namespace plimsoll::ops
