#pragma once

#include <optional>

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// The shape that both broadcast to, as NumPy has it; nullopt if they do not.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// The shape that all inputs broadcast to; fails naming two that do not.
Shape broadcast_shape(const OpInputs& inputs);

/// Types rule: one output, of the broadcast shape and the inputs' common dtype.
std::vector<TensorType> broadcast_types(const OpInputs& inputs);

/// Types rule: one output like input 0, to which the others, of its dtype, broadcast.
std::vector<TensorType> like_first_types(const OpInputs& inputs);

/// Types rule: one output like all inputs, which have one type.
std::vector<TensorType> all_same_type(const OpInputs& inputs);

/// Types rule: one output like input 0.
std::vector<TensorType> same_type(const OpInputs& inputs);

}  // namespace plimsoll::ops
