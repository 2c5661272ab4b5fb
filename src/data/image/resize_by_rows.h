#pragma once

#include <cstdint>

#include <plimsoll/data/image/view.h>

#include "data/image/row_resizer.h"

namespace plimsoll::image {

/// A picture that is in memory, of 1 to 4 channels, through the RowResizer: the bits that load()
/// gives where rows come from a decoder. `out` is the size of the result before `placement` turns
/// it.
void resize_by_rows(View<const std::uint8_t> in, Extent out, const Placement& placement,
                    Workspace& workspace);

Bytes resize_by_rows_cost(int in_width, int out_width);

}  // namespace plimsoll::image
