#pragma once

#include <cstdint>

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// `axis` counted from the front, for an attribute; unchanged if there is none such, so that the
/// op's rule can name it.
std::int64_t axis_from_front(std::int64_t axis, int rank);

/// The attribute "axis" of an op over `rank` dimensions; fails naming it if there is none such.
int axis_of(const OpInputs& inputs, int rank);

/// Extents before `axis`, of it and behind it.
struct AroundAxis {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};
AroundAxis around_axis(const Shape& shape, int axis);

/// Cost: what leaves is read once and written once, whatever else the inputs hold.
Cost cost_of_moving_outputs(const OpInputs& inputs, std::span<const TensorType> outputs);

}  // namespace plimsoll::ops
