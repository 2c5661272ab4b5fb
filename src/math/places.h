#pragma once

#include <cstdint>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::math {

/// Where elements lie in dimensions that are joined into one: `indices`, one tensor for each of
/// them, broadcast, as i64; negative ones count from the end. Where one is outside its dimension
/// the result is -1, or what is outside the one dimension there is: gather refuses both.
Tensor flat_places(std::vector<Tensor> indices, const std::vector<std::int64_t>& extents);

/// Indices [..., k] of the first k dimensions of `shape`, as indices of one that joins them.
struct NdPlaces {
  Tensor flat;
  Shape joined;  ///< the joined dimension and the rest

  /// `who` speaks in the InvalidArgument for what does not fit.
  NdPlaces(const char* who, const Tensor& indices, const Shape& shape);
};

}  // namespace plimsoll::math
