#pragma once

#include <plimsoll/tensor/tensor.h>

// Gated units in one pass, forward and backward: what the gate goes through is computed again for
// gradients and never stored.

namespace plimsoll::ops {

/// What the gate of a gated unit goes through: sigmoid in Dauphin et al. 2016, the others as in
/// Shazeer 2020.
enum class Gate : std::uint8_t { sigmoid, silu, gelu, relu, linear };

/// gate(g) * x. Both have one type; else InvalidArgument.
Tensor gated(const Tensor& g, const Tensor& x, Gate gate);
/// The halves a and b of x along its last dimension, as a * gate(b). InvalidArgument if that has an
/// odd extent.
Tensor glu(const Tensor& x, Gate gate = Gate::sigmoid);

}  // namespace plimsoll::ops
