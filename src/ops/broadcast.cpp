#include "ops/broadcast.h"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::ops {

namespace {

Shape joined(const OpInputs& inputs, const Shape& left, const Shape& right) {
  std::array<std::int64_t, kMaxRank> dims{};
  const int rank = std::max(left.rank(), right.rank());
  for (int i = 0; i < rank; ++i) {
    const int l = i - (rank - left.rank());
    const int r = i - (rank - right.rank());
    const std::int64_t x = l < 0 ? 1 : left[l];
    const std::int64_t y = r < 0 ? 1 : right[r];
    if (x != y && x != 1 && y != 1) {
      inputs.fail(
          fmt::format("shapes {} and {} do not broadcast", left.to_string(), right.to_string()));
    }
    dims[static_cast<std::size_t>(i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
}

}  // namespace

Shape broadcast_shape(const OpInputs& inputs) {
  Shape shape = inputs.shape(0);
  for (int i = 1; i < inputs.count(); ++i) shape = joined(inputs, shape, inputs.shape(i));
  return shape;
}

std::vector<TensorType> broadcast_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  return {{inputs.dtype(0), broadcast_shape(inputs)}};
}

std::vector<TensorType> like_first_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  if (broadcast_shape(inputs) != inputs.shape(0)) {
    inputs.fail(fmt::format("the others do not broadcast to {}", inputs.shape(0).to_string()));
  }
  return {inputs[0]};
}

std::vector<TensorType> all_same_type(const OpInputs& inputs) {
  for (int i = 1; i < inputs.count(); ++i) {
    if (inputs[i] != inputs[0]) inputs.fail("inputs must have the same shape and dtype");
  }
  return {inputs[0]};
}

std::vector<TensorType> same_type(const OpInputs& inputs) { return {inputs[0]}; }

}  // namespace plimsoll::ops
