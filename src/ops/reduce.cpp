// sum, mean ...: over some dimensions.
#include <plimsoll/ops/reduce.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/families.h"

namespace plimsoll::ops {
namespace {

/// The shape with the reduced dimensions kept as 1. Axes are sorted and in range.
Shape kept_shape(Shape shape, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) shape = shape.with_dim(static_cast<int>(axis), 1);
  return shape;
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

const OpDef kSum = {
    .name = "sum",
    .family = "reduce",
    .summary = "the sum over some dimensions",
    .dtypes = kNumbers,
    .types = reduced_types,
    .gradient =
        [](GradientContext& g) {
          const Shape& shape = g.input_type(0).shape;
          const Tensor kept = reshape(g.grad(), kept_shape(shape, g.attributes().integers("axes")));
          g.set(0, broadcast_to(kept, shape));
        },
    .cheap = true,
};

constexpr std::array kOps = {&kSum};

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

}  // namespace

Family reduce_ops() { return kOps; }

Tensor sum(const Tensor& x, const ReduceOptions& options) {
  return call_one(kSum, {x},
                  {{"axes", resolved_axes(x, options, kSum)}, {"keep_dims", options.keep_dims}});
}

Tensor mean(const Tensor& x, const ReduceOptions& options) {
  std::int64_t count = 1;
  for (const std::int64_t axis : resolved_axes(x, options, kSum)) {
    count *= x.dim(static_cast<int>(axis));
  }
  return scale(sum(x, options), 1.0 / static_cast<double>(count));
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
