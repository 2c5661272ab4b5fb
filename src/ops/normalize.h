#pragma once

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// The dtype of statistics of x: f32, or f64 for f64.
DType statistics_dtype(DType dtype);

/// Fails unless input `i` has one element for each of `count` channels or features, in x's dtype or
/// in that of its statistics, and `i + 1` up to `last` are like it.
void require_parameters(const OpInputs& inputs, int i, int last, std::int64_t count);

/// Cost: a few operations for each element of input 0, everything moved once.
Cost normalize_cost(const OpInputs& inputs, std::span<const TensorType> outputs);

}  // namespace plimsoll::ops
