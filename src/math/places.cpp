#include "math/places.h"

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::math {

Tensor flat_places(std::vector<Tensor> indices, const std::vector<std::int64_t>& extents) {
  Tensor flat;
  Tensor outside;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].dtype() != DType::i64 && indices[i].dtype() != DType::i32) {
      throw InvalidArgument(fmt::format("[index] indices are {}; they must be i64 or i32, or bool",
                                        indices[i].type().to_string()));
    }
    Tensor at = ops::cast(indices[i], DType::i64);
    const auto extent = static_cast<double>(extents[i]);
    const Tensor negative = at < 0;
    at = ops::where(negative, ops::shift(at, extent), at);
    if (indices.size() == 1) return at;
    const Tensor beyond = ops::logical_or(at < 0, at >= extents[i]);
    outside = outside.defined() ? ops::logical_or(outside, beyond) : beyond;
    flat = flat.defined() ? ops::add(ops::scale(flat, extent), at) : at;
  }
  return ops::where(outside, ops::number_like(flat, -1), flat);
}

NdPlaces::NdPlaces(const char* who, const Tensor& indices, const Shape& shape) {
  if (indices.rank() == 0 || indices.dim(-1) > shape.rank() || indices.dim(-1) == 0) {
    throw InvalidArgument(fmt::format(
        "[{}] indices are {}; their last dimension says how many of {}'s dimensions they are for",
        who, indices.type().to_string(), shape.to_string()));
  }
  const auto count = static_cast<int>(indices.dim(-1));
  const Shape front = indices.shape().with_removed(indices.rank() - 1);
  std::vector<Tensor> parts;
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  for (int d = 0; d < count; ++d) {
    parts.push_back(ops::reshape(ops::slice(indices, -1, d, d + 1), front));
    extents.push_back(shape[d]);
    elements *= shape[d];
  }
  flat = flat_places(std::move(parts), extents);
  std::vector<std::int64_t> dims = {elements};
  for (int d = count; d < shape.rank(); ++d) dims.push_back(shape[d]);
  joined = Shape(std::span<const std::int64_t>(dims));
}

}  // namespace plimsoll::math
