// reshape, transpose, broadcast, tile: the same elements elsewhere.
#include <plimsoll/ops/shape_ops.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/reduce.h>

#include "ops/axis.h"

namespace plimsoll::ops {
namespace {

const OpDef kReshape = {
    .name = "reshape",
    .family = "shape",
    .summary = "the same elements under another shape",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape shape = inputs.attributes().shape("shape");
          if (shape.elements() != inputs[0].elements()) {
            inputs.fail(
                fmt::format("{} elements do not fit {}", inputs[0].elements(), shape.to_string()));
          }
          return std::vector<TensorType>{{inputs.dtype(0), shape}};
        },
    .gradient = [](GradientContext& g) { g.set(0, reshape(g.grad(), g.input_type(0).shape)); },
    .view = true,
    .cheap = true,
};

const OpDef kBroadcastTo = {
    .name = "broadcast_to",
    .family = "shape",
    .summary = "repeats dimensions of extent 1",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape& from = inputs.shape(0);
          const Shape to = inputs.attributes().shape("shape");
          const int extra = to.rank() - from.rank();
          bool fits = extra >= 0;
          for (int i = 0; fits && i < from.rank(); ++i) {
            fits = from[i] == 1 || from[i] == to[i + extra];
          }
          if (!fits) inputs.fail(fmt::format("does not broadcast to {}", to.to_string()));
          return std::vector<TensorType>{{inputs.dtype(0), to}};
        },
    .gradient = [](GradientContext& g) { g.set(0, sum_to(g.grad(), g.input_type(0).shape)); },
    .cheap = true,
    .channels = {.rule = ChannelRule::pointwise},
};

const OpDef kTranspose = {
    .name = "transpose",
    .family = "shape",
    .summary = "the dimensions in another order",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape& from = inputs.shape(0);
          const auto& order = inputs.attributes().integers("order");
          std::array<bool, kMaxRank> seen{};
          bool valid = order.size() == static_cast<std::size_t>(from.rank());
          std::vector<std::int64_t> dims;
          for (std::size_t i = 0; valid && i < order.size(); ++i) {
            valid = order[i] >= 0 && order[i] < from.rank() &&
                    !std::exchange(seen[static_cast<std::size_t>(order[i])], true);
            if (valid) dims.push_back(from[static_cast<int>(order[i])]);
          }
          if (!valid) inputs.fail("the order must name each dimension once");
          return std::vector<TensorType>{
              {inputs.dtype(0), Shape(std::span<const std::int64_t>(dims))}};
        },
    .gradient =
        [](GradientContext& g) {
          const auto& order = g.attributes().integers("order");
          std::vector<std::int64_t> back(order.size());
          for (std::size_t i = 0; i < order.size(); ++i) {
            back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
          }
          g.set(0, transpose(g.grad(), back));
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
};

constexpr std::array kShapeOps = {&kReshape, &kBroadcastTo, &kTranspose};

/// Only speaks in messages: tile is written in the ops above.
const OpDef kTile = {.name = "tile"};

const RegisterOps kShapeRegistered(kShapeOps);

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : call_one(kReshape, {x}, {{"shape", to_integers(shape)}});
}

Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape) {
  const TensorType type = x.type();
  const Attributes given = {{"shape", shape}};
  const OpInputs inputs(kReshape, {&type, 1}, given);
  std::vector<std::int64_t> dims = shape;
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : dims) {
    if (extent == -1) {
      if (open != nullptr) inputs.fail("at most one extent can be -1");
      open = &extent;
    } else if (__builtin_mul_overflow(known, extent, &known)) {
      inputs.fail(fmt::format("{} elements do not fit", x.elements()));
    }
  }
  if (open != nullptr) *open = known == 0 ? 0 : x.elements() / known;
  return reshape(x, Shape(std::span<const std::int64_t>(dims)));
}

Tensor transpose(const Tensor& x, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> from_front;
  for (const std::int64_t axis : order) from_front.push_back(axis_from_front(axis, x.rank()));
  return call_one(kTranspose, {x}, {{"order", from_front}});
}

Tensor view_as_op(const Tensor& x, const ViewOf& view) {
  switch (view.kind) {
    case ViewOf::Kind::reshape:
      return reshape(x, view.shape);
    case ViewOf::Kind::slice:
      return slice(x, view.dim, view.begin, view.end, view.step);
    case ViewOf::Kind::permute:
      break;
  }
  return transpose(x, std::vector<std::int64_t>(view.order.begin(), view.order.end()));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : call_one(kBroadcastTo, {x}, {{"shape", to_integers(shape)}});
}

Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts) {
  const TensorType type = x.type();
  const Attributes given = {{"counts", counts}};
  const OpInputs inputs(kTile, {&type, 1}, given);
  if (counts.size() != static_cast<std::size_t>(x.rank())) {
    inputs.fail(fmt::format("{} counts for {} dimensions", counts.size(), x.rank()));
  }
  std::vector<std::int64_t> dims(x.shape().begin(), x.shape().end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (counts[i] < 0 || __builtin_mul_overflow(dims[i], counts[i], &dims[i])) {
      inputs.fail(fmt::format("a dimension cannot be repeated {} times", counts[i]));
    }
  }
  // Innermost first, so that what is between is small.
  Tensor result = x;
  Shape shape = x.shape();
  for (int i = x.rank() - 1; i >= 0; --i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    if (count == 1) continue;
    const AroundAxis around = around_axis(shape, i);
    const std::int64_t run = around.extent * around.inner;
    result =
        broadcast_to(reshape(result, Shape{around.outer, 1, run}), Shape{around.outer, count, run});
    shape = shape.with_dim(i, shape[i] * count);
  }
  return reshape(result, shape);
}

}  // namespace plimsoll::ops
