#pragma once

#include <cstdint>

#include <plimsoll/base/shape.h>

namespace plimsoll::backend {

/// A dimension and what lies around it: lines of `extent` elements, `inner` apart, in `outer`
/// blocks.
struct Around {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

inline Around around(const Shape& shape, std::int64_t axis) {
  Around result;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? result.outer : i == axis ? result.extent : result.inner) *= shape[i];
  }
  return result;
}

}  // namespace plimsoll::backend
