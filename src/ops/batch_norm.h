#pragma once

#include <plimsoll/ops/op_def.h>

// What the ops of batch normalisation have in common.

namespace plimsoll::ops {

/// Along dimension 1, or the last with "channels_last". Fails unless x has 2 or 4 dimensions.
std::int64_t channels_of(const OpInputs& inputs);

/// Of the mean and the variance of each channel.
TensorType statistics_type(const OpInputs& inputs);

/// Fails unless inputs `i` and `i + 1` are statistics.
void require_statistics(const OpInputs& inputs, int i);

}  // namespace plimsoll::ops
