// concat, stack, split: tensors side by side.
#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/axis.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> concat_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape& first = inputs.shape(0);
  const int axis = axis_of(inputs, first.rank());
  std::int64_t extent = 0;
  for (int i = 0; i < inputs.count(); ++i) {
    const Shape& shape = inputs.shape(i);
    if (shape.rank() != first.rank() || shape.with_dim(axis, first[axis]) != first) {
      inputs.fail(fmt::format("shapes {} and {} differ in more than axis {}", first.to_string(),
                              shape.to_string(), axis));
    }
    if (__builtin_add_overflow(extent, shape[axis], &extent)) inputs.fail("is too large");
  }
  return {{inputs.dtype(0), first.with_dim(axis, extent)}};
}

const OpDef kConcat = {
    .name = "concat",
    .family = "shape",
    .summary = "tensors one after another along a dimension",
    .variadic = true,
    .dtypes = kAnyDType,
    .types = concat_types,
    .gradient =
        [](GradientContext& g) {
          const auto axis = static_cast<int>(g.attributes().integer("axis"));
          std::int64_t begin = 0;
          for (int i = 0; i < g.input_count(); ++i) {
            const std::int64_t end = begin + g.input_type(i).shape[axis];
            if (g.needs(i)) g.set(i, slice(g.grad(), axis, begin, end));
            begin = end;
          }
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
    .channels = {.rule = ChannelRule::axis},
};

std::vector<TensorType> split_types(const OpInputs& inputs) {
  const Shape& shape = inputs.shape(0);
  const int axis = axis_of(inputs, shape.rank());
  std::vector<TensorType> types;
  std::int64_t left = shape[axis];
  for (const std::int64_t extent : inputs.attributes().integers("extents")) {
    if (extent < 0 || extent > left) inputs.fail(fmt::format("extent {} does not fit", extent));
    left -= extent;
    types.push_back({inputs.dtype(0), shape.with_dim(axis, extent)});
  }
  if (left != 0) inputs.fail(fmt::format("the extents leave {} elements of axis {}", left, axis));
  if (types.empty()) inputs.fail("no extents are given");
  return types;
}

const OpDef kSplit = {
    .name = "split",
    .family = "shape",
    .summary = "pieces along a dimension",
    .dtypes = kAnyDType,
    .types = split_types,
    .gradient =
        [](GradientContext& g) {
          std::vector<Tensor> pieces;
          const std::size_t count = g.attributes().integers("extents").size();
          for (std::size_t i = 0; i < count; ++i) pieces.push_back(g.grad(static_cast<int>(i)));
          g.set(0, concat(pieces, static_cast<int>(g.attributes().integer("axis"))));
        },
    .cost = cost_of_moving_outputs,
    .cheap = true,
    .channels = {.rule = ChannelRule::axis},
};

constexpr std::array kConcatSplitOps = {&kConcat, &kSplit};

const RegisterOps kConcatSplitRegistered(kConcatSplitOps);

}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw InvalidArgument("[concat] there are no tensors");
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) throw InvalidArgument("[concat] an input is undefined");
  }
  return call(kConcat, tensors, {{"axis", axis_from_front(axis, tensors.front().rank())}}).front();
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw InvalidArgument("[stack] there are no tensors");
  std::vector<Tensor> apart;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() != tensors.front().shape()) {
      throw InvalidArgument(fmt::format("[stack] shapes {} and {} differ",
                                        tensors.front().shape().to_string(),
                                        tensor.shape().to_string()));
    }
    const int rank = tensor.rank() + 1;
    const std::int64_t at = axis_from_front(axis, rank);
    if (at < 0 || at >= rank || rank > kMaxRank) {
      throw InvalidArgument(fmt::format("[stack] {} cannot have a new dimension {}",
                                        tensor.shape().to_string(), axis));
    }
    apart.push_back(reshape(tensor, tensor.shape().with_inserted(static_cast<int>(at), 1)));
  }
  return concat(apart, axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& extents, int axis) {
  return call(kSplit, {&x, 1}, {{"extents", extents}, {"axis", axis_from_front(axis, x.rank())}});
}

}  // namespace plimsoll::ops
