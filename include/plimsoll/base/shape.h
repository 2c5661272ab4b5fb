#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace plimsoll {

/// The most dimensions a tensor has.
inline constexpr int kMaxRank = 8;

/// The extents of a tensor, outermost first; rank 0 is a scalar with one element. A small value
/// without memory of its own. Distinct objects may be used from distinct threads.
class Shape {
 public:
  /// Rank 0.
  Shape() = default;
  /// Throws InvalidArgument for a negative extent or more than kMaxRank of them.
  Shape(std::initializer_list<std::int64_t> dims)  // NOLINT: shapes are written {2, 3}
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  /// Extent of dimension `dim`; negative ones count from the end. InvalidArgument if there is none.
  std::int64_t dim(int dim) const { return dims_[static_cast<std::size_t>(index(dim))]; }
  /// The same without a check, for 0 <= dim < rank().
  std::int64_t operator[](int dim) const { return dims_[static_cast<std::size_t>(dim)]; }
  /// `dim` with negative values counted from the end. InvalidArgument if there is none.
  int index(int dim) const;

  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::span<const std::int64_t> dims() const { return {begin(), end()}; }

  /// Product of the extents; 1 for rank 0, 0 if any of them is 0. Throws InvalidArgument if it
  /// does not fit in 63 bits.
  std::int64_t elements() const;

  /// Strides in elements of a tensor of this shape in row-major order. Extents of 0 count as 1.
  std::array<std::int64_t, kMaxRank> contiguous_strides() const;

  /// Copies with one extent put in, taken out or replaced. InvalidArgument as the constructor.
  Shape with_inserted(int at, std::int64_t extent) const;
  Shape with_removed(int at) const;
  Shape with_dim(int at, std::int64_t extent) const;

  /// "[375,500,3]"; "[]" for rank 0.
  std::string to_string() const;

  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace plimsoll
