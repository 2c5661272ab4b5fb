#pragma once

#include <plimsoll/ops/elementwise.h>

namespace plimsoll::ops {

/// Bools as numbers of `dtype`, 1 where they hold; anything else as it is.
inline Tensor bools_as(const Tensor& x, DType dtype) {
  return x.dtype() == DType::boolean ? cast(x, dtype) : x;
}

}  // namespace plimsoll::ops
