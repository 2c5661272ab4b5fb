#pragma once

#include <plimsoll/graph/graph.h>

namespace plimsoll::graph {

/// The same step with each convolution in the layout for which GPU libraries have fast kernels:
/// channels last in 16 bits and in TF32, channels first in full f32. f64 stays as it is.
///
/// Whatever lies between convolutions (pools, normalisation, activations, sums, concatenation)
/// follows them, so that a tensor is transposed only where the network begins, where it ends, and
/// where an op depends on the order of the elements: a reshape that joins channels with pixels, or
/// random numbers, which are drawn by position. Transposes that the user wrote vanish where the
/// tensor is already in the order they ask for. Inputs, parameters, state and outputs keep the
/// user's layout.
///
/// The result is the same function. Sums within an op may be taken in another order, so results
/// agree within rounding, not in bits. A graph without such convolutions comes back unchanged.
Graph with_fast_layouts(const Graph& graph);

}  // namespace plimsoll::graph
