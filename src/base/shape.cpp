#include <plimsoll/base/shape.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>

namespace plimsoll {

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw InvalidArgument(
        fmt::format("[Shape] {} dimensions; there are at most {}", dims.size(), kMaxRank));
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0) {
      throw InvalidArgument(fmt::format("[Shape] negative extent {} in [{}]", dim,
                                        fmt::join(dims.begin(), dims.end(), ",")));
    }
  }
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = static_cast<int>(dims.size());
}

int Shape::index(int dim) const {
  const int result = dim < 0 ? dim + rank_ : dim;
  if (result < 0 || result >= rank_) {
    throw InvalidArgument(
        fmt::format("[Shape] no dimension {} in {}, which has rank {}", dim, to_string(), rank_));
  }
  return result;
}

std::int64_t Shape::elements() const {
  if (std::find(begin(), end(), 0) != end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t dim : *this) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      throw InvalidArgument(
          fmt::format("[Shape] {} has more elements than fit in 63 bits", to_string()));
    }
  }
  return product;
}

std::array<std::int64_t, kMaxRank> Shape::contiguous_strides() const {
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    strides[at] = stride;
    // Can only overflow where nothing is ever addressed: in a shape without elements.
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(dims_[at], 1), &stride)) stride = 0;
  }
  return strides;
}

Shape Shape::with_inserted(int at, std::int64_t extent) const {
  if (at < 0 || at > rank_) {
    throw InvalidArgument(
        fmt::format("[Shape] cannot insert a dimension at {} into {}", at, to_string()));
  }
  std::array<std::int64_t, kMaxRank + 1> dims{};
  const auto middle = std::copy(begin(), begin() + at, dims.begin());
  *middle = extent;
  std::copy(begin() + at, end(), middle + 1);
  return Shape(std::span(dims.data(), static_cast<std::size_t>(rank_) + 1));
}

Shape Shape::with_removed(int at) const {
  Shape result = *this;
  std::copy(begin() + index(at) + 1, end(), result.dims_.begin() + index(at));
  --result.rank_;
  result.dims_[static_cast<std::size_t>(result.rank_)] = 0;
  return result;
}

Shape Shape::with_dim(int at, std::int64_t extent) const {
  auto dims = dims_;
  dims[static_cast<std::size_t>(index(at))] = extent;
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank_)));
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(dims(), ",")); }

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

}  // namespace plimsoll
