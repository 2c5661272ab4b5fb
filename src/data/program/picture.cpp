#include "data/program/picture.h"

#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {

image::Extent extent_of(const Shape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const bool fits = shape.rank() == 3 && shape[0] <= kMost && shape[1] <= kMost &&
                    shape[2] <= kMost && shape[1] * shape[2] <= kMost;
  if (!fits) throw DataError(fmt::format("{} is too large for an image", shape.to_string()));
  return {static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2])};
}

}  // namespace plimsoll::data
