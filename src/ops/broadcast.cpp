#include "ops/broadcast.h"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::ops {

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  std::array<std::int64_t, kMaxRank> dims{};
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int l = i - (rank - a.rank());
    const int r = i - (rank - b.rank());
    const std::int64_t x = l < 0 ? 1 : a[l];
    const std::int64_t y = r < 0 ? 1 : b[r];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    dims[static_cast<std::size_t>(i)] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
}

Shape broadcast_shape(const OpInputs& inputs) {
  Shape shape = inputs.shape(0);
  for (int i = 1; i < inputs.count(); ++i) {
    const std::optional<Shape> joined = broadcast(shape, inputs.shape(i));
    if (!joined) {
      inputs.fail(fmt::format("shapes {} and {} do not broadcast", shape.to_string(),
                              inputs.shape(i).to_string()));
    }
    shape = *joined;
  }
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
