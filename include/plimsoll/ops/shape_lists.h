#pragma once

#include <initializer_list>
#include <vector>

#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::ops {

/// reshape() with the extents written in braces, one of which may be -1: `reshape(x, {-1, 64})`.
inline Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, std::vector<std::int64_t>(shape));
}

}  // namespace plimsoll::ops
