#include <plimsoll/math/index.h>

#include <algorithm>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/math/arrange.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

#include "math/places.h"

namespace plimsoll::math {
namespace {

[[noreturn]] void index_fail(const std::string& what) { throw InvalidArgument("[index] " + what); }

bool is_mask(const Index& entry) {
  return std::holds_alternative<Tensor>(entry) && std::get<Tensor>(entry).dtype() == DType::boolean;
}

/// Entries with masks replaced by indices and Rest by as many ranges as it stands for.
std::vector<Index> spelled_out(const Tensor& x, const std::vector<Index>& at) {
  std::vector<Index> entries;
  int dims = 0;
  int rests = 0;
  for (const Index& entry : at) {
    if (is_mask(entry)) {
      const auto& mask = std::get<Tensor>(entry);
      const Tensor places = nonzero(mask);
      for (int d = 0; d < mask.rank(); ++d) {
        // Extents are compared here, as nothing else would notice a mask that is too small.
        if (rests == 0 && dims + d < x.rank() && mask.dim(d) != x.dim(dims + d)) {
          index_fail(fmt::format("the mask is {} where x is {}", mask.type().to_string(),
                                 x.type().to_string()));
        }
        entries.emplace_back(ops::reshape(ops::slice(places, 1, d, d + 1), Shape{places.dim(0)}));
      }
      if (mask.rank() == 0) index_fail("a mask has at least one dimension");
      dims += mask.rank();
      continue;
    }
    rests += std::holds_alternative<Rest>(entry) ? 1 : 0;
    dims += std::holds_alternative<Rest>(entry) || std::holds_alternative<NewAxis>(entry) ? 0 : 1;
    entries.push_back(entry);
  }
  if (rests > 1) index_fail("Rest may stand once");
  if (dims > x.rank()) {
    index_fail(fmt::format("there are entries for {} dimensions, and x is {}", dims,
                           x.type().to_string()));
  }
  const auto rest = std::find_if(entries.begin(), entries.end(), [](const Index& entry) {
    return std::holds_alternative<Rest>(entry);
  });
  const std::vector<Index> whole(static_cast<std::size_t>(x.rank() - dims), Range{});
  if (rest != entries.end()) {
    const auto place = rest - entries.begin();
    entries.erase(rest);
    entries.insert(entries.begin() + place, whole.begin(), whole.end());
  } else {
    entries.insert(entries.end(), whole.begin(), whole.end());
  }
  return entries;
}

Tensor ranged(const Tensor& x, int dim, const Range& range) {
  const std::int64_t extent = x.dim(dim);
  const std::int64_t step = range.step;
  if (step == 0) index_fail(fmt::format("the step of dimension {} is 0", dim));
  const auto within = [&](std::int64_t place, std::int64_t low, std::int64_t high) {
    return std::clamp(place < 0 ? place + extent : place, low, high);
  };
  if (step > 0) {
    const std::int64_t begin = range.begin ? within(*range.begin, 0, extent) : 0;
    const std::int64_t end = range.end ? within(*range.end, 0, extent) : extent;
    if (begin == 0 && end == extent && step == 1) return x;
    return ops::slice(x, dim, begin, std::max(begin, end), step);
  }
  const std::int64_t begin = range.begin ? within(*range.begin, -1, extent - 1) : extent - 1;
  const std::int64_t end = range.end ? within(*range.end, -1, extent - 1) : -1;
  if (begin <= end) return ops::slice(x, dim, 0, 0);
  const std::int64_t count = (begin - end - 1) / -step + 1;
  const std::int64_t lowest = begin + (count - 1) * step;
  return flip(ops::slice(x, dim, lowest, begin + 1, -step), dim);
}

Tensor selected(const Tensor& x, int dim, std::int64_t place) {
  const std::int64_t extent = x.dim(dim);
  if (place < -extent || place >= extent) {
    index_fail(
        fmt::format("{} is outside dimension {}, which has {} elements", place, dim, extent));
  }
  const std::int64_t at = place < 0 ? place + extent : place;
  return ops::reshape(ops::slice(x, dim, at, at + 1), x.shape().with_removed(dim));
}

/// x at tensors of indices, the i-th of them for dimension dims[i], which rise.
Tensor at_tensors(const Tensor& x, const std::vector<int>& dims, std::vector<Tensor> indices) {
  const bool side_by_side = dims.back() - dims.front() + 1 == static_cast<int>(dims.size());
  const int place = side_by_side ? dims.front() : 0;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> extents;
  for (int d = 0; d < x.rank(); ++d) {
    if (static_cast<int>(order.size()) == place)
      order.insert(order.end(), dims.begin(), dims.end());
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  if (static_cast<int>(order.size()) == place) order.insert(order.end(), dims.begin(), dims.end());
  Shape shape;
  std::int64_t joined = 1;
  for (const int d : dims) {
    extents.push_back(x.dim(d));
    joined *= x.dim(d);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int at = static_cast<int>(i) - place;
    if (at > 0 && at < static_cast<int>(dims.size())) continue;
    shape = shape.with_inserted(shape.rank(), at == 0 ? joined : x.dim(static_cast<int>(order[i])));
  }
  const Tensor moved = side_by_side ? x : ops::transpose(x, order);
  return ops::gather(ops::reshape(moved, shape), flat_places(std::move(indices), extents), place);
}

}  // namespace

Tensor index(const Tensor& x, const std::vector<Index>& at) {
  Tensor result = x;
  int dim = 0;
  std::vector<int> dims;
  std::vector<Tensor> indices;
  for (const Index& entry : spelled_out(x, at)) {
    if (const auto* range = std::get_if<Range>(&entry)) {
      result = ranged(result, dim++, *range);
    } else if (const auto* place = std::get_if<std::int64_t>(&entry)) {
      result = selected(result, dim, *place);
    } else if (std::holds_alternative<NewAxis>(entry)) {
      result = ops::reshape(result, result.shape().with_inserted(dim++, 1));
    } else {
      dims.push_back(dim++);
      indices.push_back(std::get<Tensor>(entry));
    }
  }
  return dims.empty() ? result : at_tensors(result, dims, std::move(indices));
}

Tensor gather_nd(const Tensor& x, const Tensor& indices) {
  const NdPlaces places("gather_nd", indices, x.shape());
  return ops::gather(ops::reshape(x, places.joined), places.flat, 0);
}

Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  const NdPlaces places("scatter_nd", indices, shape);
  return ops::reshape(ops::scatter_add(updates, places.flat, places.joined, 0), shape);
}

Tensor take_along(const Tensor& x, const Tensor& indices, int axis) {
  const int at = x.shape().index(axis);
  if (indices.rank() != x.rank() || indices.shape().with_dim(at, x.dim(at)) != x.shape()) {
    throw InvalidArgument(fmt::format(
        "[take_along] indices are {}; they must have the extents of x, {}, but for dimension {}",
        indices.type().to_string(), x.type().to_string(), at));
  }
  std::vector<Tensor> places;
  std::vector<std::int64_t> extents;
  for (int d = 0; d < x.rank(); ++d) {
    extents.push_back(x.dim(d));
    Shape along;
    for (int i = 0; i < x.rank(); ++i) along = along.with_inserted(i, i == d ? x.dim(d) : 1);
    places.push_back(d == at ? indices : ops::reshape(ops::arange(x.dim(d), DType::i64, x), along));
  }
  return ops::gather(ops::reshape(x, Shape{x.elements()}), flat_places(std::move(places), extents),
                     0);
}

}  // namespace plimsoll::math
