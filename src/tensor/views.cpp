#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/symbol.h>
#include <plimsoll/tensor/tensor.h>

#include "tensor/tensor_rep.h"

namespace plimsoll {
namespace {

using Strides = std::array<std::int64_t, kMaxRank>;

/// The strides under which `from`, laid out by `strides`, can be seen as `to`; nullopt if none.
/// Both have the same number of elements, at least one.
std::optional<Strides> reshaped_strides(const Shape& from, std::span<const std::int64_t> strides,
                                        const Shape& to) {
  // Dimensions of extent 1 say nothing about the layout.
  std::array<std::int64_t, kMaxRank> dims{};
  Strides old{};
  int rank = 0;
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] == 1) continue;
    dims[static_cast<std::size_t>(rank)] = from[i];
    old[static_cast<std::size_t>(rank++)] = strides[static_cast<std::size_t>(i)];
  }
  Strides result{};
  int next = 0;  // of `to`
  for (int i = 0; i < rank;) {
    // The smallest groups of dimensions on both sides with the same number of elements.
    std::int64_t have = dims[static_cast<std::size_t>(i)];
    const int first = i++;
    const int first_new = next;
    std::int64_t want = to[next++];
    while (have != want) {
      if (have < want) {
        have *= dims[static_cast<std::size_t>(i++)];
      } else {
        want *= to[next++];
      }
    }
    for (int k = first; k + 1 < i; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (old[at] != old[at + 1] * dims[at + 1]) return std::nullopt;
    }
    std::int64_t stride = old[static_cast<std::size_t>(i - 1)];
    for (int k = next - 1; k >= first_new; --k) {
      result[static_cast<std::size_t>(k)] = stride;
      stride *= to[k];
    }
  }
  for (int k = next; k < to.rank(); ++k) result[static_cast<std::size_t>(k)] = 1;
  return result;
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape) const {
  const Rep& r = type_rep("reshape");
  if (shape.elements() != r.shape.elements()) {
    throw InvalidArgument(fmt::format("[Tensor::reshape] {} has {} elements, {} has {}",
                                      r.shape.to_string(), r.shape.elements(), shape.to_string(),
                                      shape.elements()));
  }
  if (Tensor made = recorded_view({.shape = shape}); made.defined()) return made;
  rep("reshape");
  if (shape.elements() == 0) return view(shape, shape.contiguous_strides(), r.offset);
  const auto strides = reshaped_strides(r.shape, r.stride_span(), shape);
  if (!strides) {
    throw InvalidArgument(fmt::format(
        "[Tensor::reshape] {} with strides [{}] cannot be seen as {} without a copy; use "
        "contiguous() first",
        r.shape.to_string(), fmt::join(r.stride_span(), ","), shape.to_string()));
  }
  return view(shape, *strides, r.offset);
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  const Rep& r = type_rep("slice");
  const auto at = static_cast<std::size_t>(r.shape.index(dim));
  const std::int64_t extent = r.shape.dim(dim);
  const std::int64_t first = begin < 0 ? begin + extent : begin;
  const std::int64_t last = end == kToEnd ? extent : end < 0 ? end + extent : end;
  if (first < 0 || first > last || last > extent || step < 1) {
    throw InvalidArgument(fmt::format(
        "[Tensor::slice] from {} to {} by {} is not within dimension {} of {}", begin,
        end == kToEnd ? "the end" : std::to_string(end), step, dim, r.shape.to_string()));
  }
  if (Tensor made = recorded_view({.kind = ViewOf::Kind::slice,
                                   .dim = r.shape.index(dim),
                                   .begin = first,
                                   .end = last,
                                   .step = step});
      made.defined()) {
    return made;
  }
  rep("slice");
  const std::int64_t count = (last - first) / step + ((last - first) % step != 0 ? 1 : 0);
  Strides strides = r.strides;
  // Without elements, or with one in this dimension, the stride is never used and could overflow.
  const bool some = count > 0 && r.shape.elements() != 0;
  if (some && count > 1) strides[at] *= step;
  const std::int64_t skipped =
      some ? first * r.strides[at] * static_cast<std::int64_t>(item_size(r.dtype)) : 0;
  return view(r.shape.with_dim(dim, count), strides, r.offset + static_cast<Bytes>(skipped));
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  const Rep& r = type_rep("select");
  const int at = r.shape.index(dim);
  const std::int64_t extent = r.shape[at];
  const std::int64_t position = index < 0 ? index + extent : index;
  if (position < 0 || position >= extent) {
    throw InvalidArgument(fmt::format("[Tensor::select] no element {} in dimension {} of {}", index,
                                      dim, r.shape.to_string()));
  }
  return slice(at, position, position + 1).squeeze(at);
}

Tensor Tensor::transpose(int dim0, int dim1) const {
  const Rep& r = type_rep("transpose");
  std::array<int, kMaxRank> order{};
  for (int i = 0; i < r.shape.rank(); ++i) order[static_cast<std::size_t>(i)] = i;
  std::swap(order[static_cast<std::size_t>(r.shape.index(dim0))],
            order[static_cast<std::size_t>(r.shape.index(dim1))]);
  return permute(std::span<const int>(order.data(), static_cast<std::size_t>(r.shape.rank())));
}

Tensor Tensor::permute(std::span<const int> order) const {
  const Rep& r = type_rep("permute");
  std::array<std::int64_t, kMaxRank> dims{};
  std::array<int, kMaxRank> from_front{};
  std::array<bool, kMaxRank> seen{};
  Strides strides{};
  bool valid = order.size() == static_cast<std::size_t>(r.shape.rank());
  for (std::size_t i = 0; valid && i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(r.shape.index(order[i]));
    valid = !std::exchange(seen[from], true);
    from_front[i] = static_cast<int>(from);
    dims[i] = r.shape[static_cast<int>(from)];
    strides[i] = r.strides[from];
  }
  if (!valid) {
    throw InvalidArgument(
        fmt::format("[Tensor::permute] [{}] does not name each dimension of {} once",
                    fmt::join(order, ","), r.shape.to_string()));
  }
  if (Tensor made = recorded_view(
          {.kind = ViewOf::Kind::permute, .order = {from_front.data(), order.size()}});
      made.defined()) {
    return made;
  }
  rep("permute");
  return view(Shape(std::span<const std::int64_t>(dims.data(), order.size())), strides, r.offset);
}

Tensor Tensor::squeeze(int dim) const {
  const Rep& r = type_rep("squeeze");
  const int at = r.shape.index(dim);
  if (r.shape[at] != 1) {
    throw InvalidArgument(fmt::format("[Tensor::squeeze] dimension {} of {} has extent {}, not 1",
                                      dim, r.shape.to_string(), r.shape[at]));
  }
  const Shape shape = r.shape.with_removed(at);
  if (Tensor made = recorded_view({.shape = shape}); made.defined()) return made;
  rep("squeeze");
  Strides strides = r.strides;
  std::copy(strides.begin() + at + 1, strides.end(), strides.begin() + at);
  return view(shape, strides, r.offset);
}

Tensor Tensor::squeeze() const {
  type_rep("squeeze");
  Tensor result = *this;
  for (int i = rank() - 1; i >= 0; --i) {
    if (result.shape()[i] == 1) result = result.squeeze(i);
  }
  return result;
}

Tensor Tensor::unsqueeze(int dim) const {
  const Rep& r = type_rep("unsqueeze");
  const int at = dim < 0 ? dim + r.shape.rank() + 1 : dim;
  const Shape shape = r.shape.with_inserted(at, 1);
  if (Tensor made = recorded_view({.shape = shape}); made.defined()) return made;
  rep("unsqueeze");
  Strides strides = r.strides;
  std::copy_backward(strides.begin() + at, strides.end() - 1, strides.end());
  strides[static_cast<std::size_t>(at)] =
      at < r.shape.rank() ? r.strides[static_cast<std::size_t>(at)] : 1;
  return view(shape, strides, r.offset);
}

Tensor Tensor::read_only() const {
  Rep result = rep("read_only");
  if (result.storage->read_only()) return *this;
  result.storage = Storage::read_only_view(std::move(result.storage));
  return Tensor(std::make_shared<const Rep>(std::move(result)));
}

}  // namespace plimsoll
