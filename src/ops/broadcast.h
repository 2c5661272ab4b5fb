#pragma once

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// The shape that inputs `a` and `b` broadcast to; fails naming both if they do not.
Shape broadcast_shape(const OpInputs& inputs, int a, int b);

/// Types rule: one output, of the broadcast shape and the inputs' common dtype.
std::vector<TensorType> broadcast_types(const OpInputs& inputs);

/// Types rule: one output like input 0.
std::vector<TensorType> same_type(const OpInputs& inputs);

}  // namespace plimsoll::ops
