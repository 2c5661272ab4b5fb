#pragma once

#include <plimsoll/ops/update.h>

namespace plimsoll::ops {

// Updates of a table [count, ...] by the rows of it that were read. `ids` (i32 or i64) name them,
// and `rows`, of the shape that gather(table, ids) has, is the gradient of what was read. The rows
// that belong to an id are added in order of position, the sum is rounded to the dtype of `rows`,
// and each row named is updated once. A row whose contributions are all 0 stays as it is.
//
// The result is bit for bit that of scatter_add() and the update of the whole table, as long as
// table and state are finite, without a gradient of the table's size and without a pass over the
// table. Traced steps come to them by graph::with_row_updates().

/// sgd_update() without momentum and weight decay.
void sgd_update_rows(const Tensor& table, const Tensor& ids, const Tensor& rows, const Tensor& rate,
                     const Tensor& enable = {});

/// adagrad_update() without weight decay.
void adagrad_update_rows(const Tensor& table, const Tensor& sum, const Tensor& ids,
                         const Tensor& rows, const Tensor& rate, const Tensor& step,
                         const AdagradOptions& options, const Tensor& enable = {});

/// lazy_adam_update().
void lazy_adam_update_rows(const Tensor& table, const Tensor& first, const Tensor& second,
                           const Tensor& ids, const Tensor& rows, const Tensor& rate,
                           const Tensor& step, const AdamOptions& options,
                           const Tensor& enable = {});

}  // namespace plimsoll::ops
