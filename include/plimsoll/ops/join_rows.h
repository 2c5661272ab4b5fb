#pragma once

#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// Tensors one after another along their first dimension, each rounded to `dtype`: what
/// concat(cast(...), 0) gives, in one pass over the elements. The tensors are floating point, of
/// one dtype, and differ in their first dimension only. Throws InvalidArgument.
Tensor join_rows(const std::vector<Tensor>& tensors, DType dtype);

}  // namespace plimsoll::ops
