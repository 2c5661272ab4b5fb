#pragma once

#include "data/image/kernels.h"

namespace plimsoll::image {

/// Null where this processor, or this build's architecture, has no AVX-512 with its permutations of
/// bytes (VBMI).
const RowKernels* avx512_row_kernels();

}  // namespace plimsoll::image
