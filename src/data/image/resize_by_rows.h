#pragma once

#include <cstdint>

#include <plimsoll/data/image/resize.h>
#include <plimsoll/data/image/view.h>

#include "data/image/row_resizer.h"

namespace plimsoll::image {

/// Whether a resize can be done row by row.
bool resizes_by_rows(const ResizeOptions& options);

/// A picture that is in memory, of 1 to 4 channels, through a RowSink: the bits that load() gives
/// where rows come from a decoder. `out` is the size of the result before `placement` turns it.
void resize_by_rows(View<const std::uint8_t> in, Extent out, const ResizeOptions& options,
                    const Placement& placement, Workspace& workspace,
                    ColumnWeights weights = ColumnWeights::fixed);

Bytes resize_by_rows_cost(Extent out, Extent in, const ResizeOptions& options);

}  // namespace plimsoll::image
