#pragma once

#include "data/image/kernels.h"

namespace plimsoll::image {

/// Null where this processor, or this build's architecture, has no AVX2.
const RowKernels* avx2_row_kernels();

}  // namespace plimsoll::image
