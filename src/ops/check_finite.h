#pragma once

#include <span>

#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::ops {

/// Throws Error naming the op, where it is and its inputs if a floating output has a NaN or an
/// infinity.
void check_outputs_finite(const OpCall& call, std::span<const Tensor> outputs);

}  // namespace plimsoll::ops
