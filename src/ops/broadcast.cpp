#include "ops/broadcast.h"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::ops {

Shape broadcast_shape(const OpInputs& inputs, int a, int b) {
  const Shape& left = inputs.shape(a);
  const Shape& right = inputs.shape(b);
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

std::vector<TensorType> broadcast_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  return {{inputs.dtype(0), broadcast_shape(inputs, 0, 1)}};
}

std::vector<TensorType> same_type(const OpInputs& inputs) { return {inputs[0]}; }

}  // namespace plimsoll::ops
