// pad, slice: more or less of a dimension.
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/axis.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> pad_types(const OpInputs& inputs) {
  const Shape& from = inputs.shape(0);
  const auto& before = inputs.attributes().integers("before");
  const auto& after = inputs.attributes().integers("after");
  const auto rank = static_cast<std::size_t>(from.rank());
  if (before.size() != rank || after.size() != rank) {
    inputs.fail(fmt::format("needs a number before and after each of {} dimensions", rank));
  }
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t extent = from[static_cast<int>(i)];
    // What is taken away is taken from x, not from what the other side adds.
    const bool valid = before[i] >= -extent && after[i] >= -extent &&
                       !__builtin_add_overflow(extent, before[i], &extent) &&
                       !__builtin_add_overflow(extent, after[i], &extent) && extent >= 0 &&
                       std::min(before[i], std::int64_t{0}) + std::min(after[i], std::int64_t{0}) >=
                           -from[static_cast<int>(i)];
    if (!valid) inputs.fail(fmt::format("dimension {} cannot be padded so", i));
    dims.push_back(extent);
  }
  return {{inputs.dtype(0), Shape(std::span<const std::int64_t>(dims))}};
}

const OpDef kPad = {
    .name = "pad",
    .family = "shape",
    .summary = "a value around a tensor; negative padding removes elements",
    .dtypes = kAnyDType,
    .types = pad_types,
    .gradient =
        [](GradientContext& g) {
          auto before = g.attributes().integers("before");
          auto after = g.attributes().integers("after");
          for (std::int64_t& count : before) count = -count;
          for (std::int64_t& count : after) count = -count;
          g.set(0, pad(g.grad(), before, after));
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
    .channels = {.rule = ChannelRule::padding},
};

/// How many elements a slice takes of `extent`; fails if it is not within.
std::int64_t slice_count(const OpInputs& inputs, std::int64_t extent) {
  const std::int64_t begin = inputs.attributes().integer("begin");
  const std::int64_t end = inputs.attributes().integer("end");
  const std::int64_t step = inputs.attributes().integer("step");
  if (begin < 0 || begin > end || end > extent || step < 1) {
    inputs.fail(
        fmt::format("from {} to {} by {} is not within {} elements", begin, end, step, extent));
  }
  return (end - begin) / step + ((end - begin) % step != 0 ? 1 : 0);
}

Attributes slice_attributes(const Attributes& from) {
  return {{"axis", from.integer("axis")},
          {"begin", from.integer("begin")},
          {"end", from.integer("end")},
          {"step", from.integer("step")}};
}

const OpDef kSlice = {
    .name = "slice",
    .family = "shape",
    .summary = "every step-th element of a range of a dimension",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape& shape = inputs.shape(0);
          const int axis = axis_of(inputs, shape.rank());
          return std::vector<TensorType>{
              {inputs.dtype(0), shape.with_dim(axis, slice_count(inputs, shape[axis]))}};
        },
    .gradient =
        [](GradientContext& g) {
          static const OpDef& grad = *find_op("slice_grad");
          Attributes attributes = slice_attributes(g.attributes());
          attributes.set("shape", to_integers(g.input_type(0).shape));
          g.set(0, call_one(grad, {g.grad()}, attributes));
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
    .channels = {.rule = ChannelRule::axis},
};

const OpDef kSliceGrad = {
    .name = "slice_grad",
    .family = "shape",
    .summary = "zeros, with a tensor where a slice was taken",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape shape = inputs.attributes().shape("shape");
          const int axis = axis_of(inputs, shape.rank());
          if (inputs.shape(0) != shape.with_dim(axis, slice_count(inputs, shape[axis]))) {
            inputs.fail("is not the gradient of that slice");
          }
          return std::vector<TensorType>{{inputs.dtype(0), shape}};
        },
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kSlice, {g.grad()}, slice_attributes(g.attributes())));
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
    .channels = {.rule = ChannelRule::axis},
};

constexpr std::array kPadSliceOps = {&kPad, &kSlice, &kSliceGrad};

const RegisterOps kPadSliceRegistered(kPadSliceOps);

}  // namespace

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& before,
           const std::vector<std::int64_t>& after, double value) {
  return call_one(kPad, {x}, {{"before", before}, {"after", after}, {"value", value}});
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const std::int64_t at = axis_from_front(axis, x.rank());
  const std::int64_t extent = at >= 0 && at < x.rank() ? x.shape()[static_cast<int>(at)] : 0;
  const auto from_front = [extent](std::int64_t position) {
    return position < 0 && position >= -extent ? position + extent : position;
  };
  const std::int64_t first = from_front(begin);
  const std::int64_t last = end == Tensor::kToEnd ? extent : from_front(end);
  if (first == 0 && last == extent && step == 1 && at >= 0 && at < x.rank()) return x;
  return call_one(kSlice, {x}, {{"axis", at}, {"begin", first}, {"end", last}, {"step", step}});
}

}  // namespace plimsoll::ops
