#include "ops/axis.h"

#include <fmt/format.h>

namespace plimsoll::ops {

std::int64_t axis_from_front(std::int64_t axis, int rank) {
  return axis < 0 && axis >= -rank ? axis + rank : axis;
}

int axis_of(const OpInputs& inputs, int rank) {
  const std::int64_t axis = inputs.attributes().integer("axis");
  if (axis < 0 || axis >= rank) {
    inputs.fail(fmt::format("there is no axis {} among {} dimensions", axis, rank));
  }
  return static_cast<int>(axis);
}

AroundAxis around_axis(const Shape& shape, int axis) {
  AroundAxis around;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? around.outer : i == axis ? around.extent : around.inner) *= shape[i];
  }
  return around;
}

Cost cost_of_moving_outputs(const OpInputs&, std::span<const TensorType> outputs) {
  Cost cost;
  for (const TensorType& type : outputs) cost.bytes += 2.0 * static_cast<double>(type.bytes());
  return cost;
}

}  // namespace plimsoll::ops
