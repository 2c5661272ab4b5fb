#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// x brought nearer to zero by `lambda`, and zero where |x| is at most that. `lambda` is at least
/// 0. Throws InvalidArgument.
Tensor softshrink(const Tensor& x, double lambda = 0.5);

}  // namespace plimsoll::ops
