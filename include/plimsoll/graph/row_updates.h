#pragma once

#include <plimsoll/graph/graph.h>

namespace plimsoll::graph {

/// The same step with tables that are only read by one gather() along their first dimension, or by
/// one embedding_bag(), updated by the rows that were read: no gradient of the table's size, and no
/// pass over the table.
///
/// That is so where the gradient of that op is read by nobody but the update, and the update is
/// sgd_update, adagrad_update (with an epsilon above 0) or lazy_adam_update, without weight decay.
/// Everything else stays as it is: a table with two readers, tied weights, gradients that are
/// clipped, checked, added up over micro-batches or given out, momentum.
///
/// The result has the same bits as long as table and state are finite. Values keep their ids.
Graph with_row_updates(const Graph& graph);

}  // namespace plimsoll::graph
