#pragma once

#include <plimsoll/graph/graph.h>

namespace plimsoll::graph {

/// The same step with batch normalisation as a GPU computes it fastest.
///
/// `batch_norm` becomes `batch_norm_statistics` and `batch_norm_apply`, so that computing its
/// result again takes one pass over x. A sum and a relu that nobody but the next of them reads go
/// into the application, also behind `batch_norm_inference`. `relu_grad` and the `batch_norm_grad`
/// that reads it become one op, with the sum of gradients before them; where the relu follows the
/// normalisation directly, its result is not read for that.
///
/// The result has the same bits: intermediate values are rounded where they were. A graph without
/// batch normalisation comes back unchanged.
Graph with_fused_norms(const Graph& graph);

}  // namespace plimsoll::graph
