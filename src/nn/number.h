#pragma once

#include <plimsoll/ops/random.h>

namespace plimsoll::nn {

/// `value` as a tensor without dimensions, of the dtype of `like` and where that is.
inline Tensor number(const Tensor& like, double value) {
  return ops::full_like_type(like, {like.dtype(), {}}, value);
}

}  // namespace plimsoll::nn
