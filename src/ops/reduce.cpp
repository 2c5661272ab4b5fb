// sum, mean ...: over some dimensions.
#include <plimsoll/ops/reduce.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/bools.h"

namespace plimsoll::ops {
namespace {

/// The shape with the reduced dimensions kept as 1. Axes are sorted and in range.
Shape kept_shape(Shape shape, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) shape = shape.with_dim(static_cast<int>(axis), 1);
  return shape;
}

std::int64_t reduced_count(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return count;
}

std::vector<TensorType> reduced_types(const OpInputs& inputs) {
  const auto& axes = inputs.attributes().integers("axes");
  Shape shape = kept_shape(inputs.shape(0), axes);
  if (!inputs.attributes().flag("keep_dims")) {
    for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
      shape = shape.with_removed(static_cast<int>(*it));
    }
  }
  return {{inputs.dtype(0), shape}};
}

std::vector<TensorType> types_of_some(const OpInputs& inputs) {
  if (reduced_count(inputs.shape(0), inputs.attributes().integers("axes")) == 0) {
    inputs.fail("there are no elements to choose from");
  }
  return reduced_types(inputs);
}

/// One operation for every element read.
Cost reduce_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  return {.flops = static_cast<double>(inputs[0].elements()),
          .bytes = static_cast<double>(inputs[0].bytes() + outputs[0].bytes())};
}

/// The gradient with the reduced dimensions back, as 1.
Tensor kept_grad(GradientContext& g) {
  return reshape(g.grad(), kept_shape(g.input_type(0).shape, g.attributes().integers("axes")));
}

constexpr OpDef reduce_op(std::string_view name, std::string_view summary, DTypeSet dtypes,
                          std::vector<TensorType> (*types)(const OpInputs&),
                          void (*gradient)(GradientContext&), Kept (*kept)(std::uint32_t)) {
  return {.name = name,
          .family = "reduce",
          .summary = summary,
          .dtypes = dtypes,
          .types = types,
          .gradient = gradient,
          .kept = kept,
          .cost = reduce_cost,
          .cheap = true,
          .channels = {.rule = ChannelRule::reduction}};
}

constexpr OpDef kSum = reduce_op(
    "sum", "the sum over some dimensions", kNumbers, reduced_types,
    [](GradientContext& g) { g.set(0, broadcast_to(kept_grad(g), g.input_type(0).shape)); },
    nullptr);

constexpr OpDef kMean = reduce_op(
    "mean", "the mean over some dimensions", kFloats, reduced_types,
    [](GradientContext& g) {
      const Shape& shape = g.input_type(0).shape;
      const auto count = static_cast<double>(reduced_count(shape, g.attributes().integers("axes")));
      g.set(0, broadcast_to(scale(kept_grad(g), 1 / count), shape));
    },
    nullptr);

/// dy and the result have the shape of the reduction, with or without its dimensions of 1.
std::vector<TensorType> grad_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape kept = kept_shape(inputs.shape(1), inputs.attributes().integers("axes"));
  for (const int i : {0, 2}) {
    if (i < inputs.count() && inputs[i].elements() != kept.elements()) {
      inputs.fail(fmt::format("input {} does not have the {} elements of the reduction", i,
                              kept.elements()));
    }
  }
  return {inputs[1]};
}

constexpr OpDef kExtremeGrad = {
    .name = "extreme_grad",
    .family = "reduce",
    .summary = "dy shared by the elements of x that are the largest or smallest, else 0",
    .inputs = 3,
    .types = grad_types,
    .precision = Precision::keep,
};
constexpr OpDef kProdGrad = {
    .name = "prod_grad",
    .family = "reduce",
    .summary = "dy times the product of the other elements of x",
    .inputs = 2,
    .types = grad_types,
    .precision = Precision::keep,
};

void extreme_gradient(GradientContext& g) {
  const Attributes axes = {{"axes", g.attributes().integers("axes")}};
  g.set(0, call_one(kExtremeGrad, {g.grad(), g.input(0), g.output(0)}, axes));
}
Kept keeps_ends(std::uint32_t) { return {.inputs = 1, .outputs = 1}; }

constexpr OpDef kMax = reduce_op("max", "the largest over some dimensions", kNumbers, types_of_some,
                                 extreme_gradient, keeps_ends);
constexpr OpDef kMin = reduce_op("min", "the smallest over some dimensions", kNumbers,
                                 types_of_some, extreme_gradient, keeps_ends);
constexpr OpDef kProd = reduce_op(
    "prod", "the product over some dimensions", kNumbers, reduced_types,
    [](GradientContext& g) {
      const Attributes axes = {{"axes", g.attributes().integers("axes")}};
      g.set(0, call_one(kProdGrad, {g.grad(), g.input(0)}, axes));
    },
    [](std::uint32_t) { return Kept{.inputs = 1}; });
constexpr OpDef kAll = reduce_op("all", "whether all hold over some dimensions", {DType::boolean},
                                 reduced_types, nullptr, nullptr);
constexpr OpDef kAny = reduce_op("any", "whether any holds over some dimensions", {DType::boolean},
                                 reduced_types, nullptr, nullptr);

constexpr std::array kReduceOps = {&kSum, &kMean, &kMax,         &kMin,     &kProd,
                                   &kAll, &kAny,  &kExtremeGrad, &kProdGrad};

std::vector<std::int64_t> resolved_axes(const Tensor& x, const ReduceOptions& options,
                                        const OpDef& def) {
  std::vector<std::int64_t> axes = options.axes;
  const TensorType type = x.type();
  if (axes.empty()) {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
    return axes;
  }
  const Attributes given = {{"axes", options.axes}};
  const OpInputs inputs(def, {&type, 1}, given);
  for (std::int64_t& axis : axes) {
    if (axis < -x.rank() || axis >= x.rank()) inputs.fail(fmt::format("there is no axis {}", axis));
    if (axis < 0) axis += x.rank();
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) inputs.fail("an axis twice");
  return axes;
}

Tensor reduced(const OpDef& def, const Tensor& x, const ReduceOptions& options) {
  return call_one(def, {x},
                  {{"axes", resolved_axes(x, options, def)}, {"keep_dims", options.keep_dims}});
}

/// Of bools the larger is whether any holds: they are compared as numbers.
Tensor extreme(const OpDef& def, const Tensor& x, const ReduceOptions& options) {
  if (x.dtype() != DType::boolean) return reduced(def, x, options);
  return cast(reduced(def, cast(x, DType::u8), options), DType::boolean);
}

const RegisterOps kReduceRegistered(kReduceOps);

}  // namespace

Tensor sum(const Tensor& x, const ReduceOptions& options) {
  return reduced(kSum, bools_as(x, DType::i64), options);
}
Tensor mean(const Tensor& x, const ReduceOptions& options) {
  return reduced(kMean, bools_as(x, DType::f32), options);
}
Tensor max(const Tensor& x, const ReduceOptions& options) { return extreme(kMax, x, options); }
Tensor min(const Tensor& x, const ReduceOptions& options) { return extreme(kMin, x, options); }
Tensor prod(const Tensor& x, const ReduceOptions& options) {
  return reduced(kProd, bools_as(x, DType::i64), options);
}
Tensor all(const Tensor& x, const ReduceOptions& options) { return reduced(kAll, x, options); }
Tensor any(const Tensor& x, const ReduceOptions& options) { return reduced(kAny, x, options); }

Tensor variance(const Tensor& x, const ReduceOptions& options) {
  const Tensor centre = mean(x, {.axes = options.axes, .keep_dims = true});
  return mean(square(sub(x, centre)), options);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  ReduceOptions over{.axes = {}, .keep_dims = true};
  const int extra = x.rank() - shape.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1)) over.axes.push_back(i);
  }
  return reshape(over.axes.empty() ? x : sum(x, over), shape);
}

}  // namespace plimsoll::ops
