#pragma once

#include <array>
#include <cstdint>

#include <plimsoll/base/shape.h>

// Where elements lie: dimensions that several arrays are walked through together, on the host as
// extents and strides, on the device as divisions that cost a multiplication.

namespace plimsoll::cuda {

/// Division by a number known before the launch, of dividends below 2^31.
struct Divider {
  std::uint32_t divisor = 1;
  std::uint32_t factor = 1;
  std::uint32_t shift = 0;

  Divider() = default;
  /// `by` is from 1 to 2^31 - 1.
  explicit Divider(std::int64_t by) : divisor(static_cast<std::uint32_t>(by)) {
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t above = (std::uint64_t{1} << shift) - divisor;
    factor = static_cast<std::uint32_t>((above << 32) / divisor + 1);
  }

  __device__ __forceinline__ std::uint32_t quotient(std::uint32_t n) const {
    return (__umulhi(n, factor) + n) >> shift;
  }
  /// Replaces `n` by the quotient and gives what is left.
  __device__ __forceinline__ std::uint32_t divide(std::uint32_t& n) const {
    const std::uint32_t whole = quotient(n);
    const std::uint32_t rest = n - whole * divisor;
    n = whole;
    return rest;
  }
};

/// The most elements that one launch runs through.
inline constexpr std::int64_t kMostIndexed = std::int64_t{1} << 30;
/// Long runs are cut at multiples of this, so that both halves begin with whole words.
inline constexpr std::int64_t kWholeWords = 1024;

/// Dimensions, outermost first, without those of one element; neighbours that are one run in all
/// N arrays are joined. Strides are in elements. Rank 0: a single element.
template <int N>
struct Walk {
  using Strides = std::array<std::int64_t, N>;

  int rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<Strides, kMaxRank> strides{};

  void add(std::int64_t extent, const Strides& stride) {
    if (extent == 1) return;
    if (rank > 0) {
      const auto last = static_cast<std::size_t>(rank - 1);
      bool one = true;
      for (std::size_t n = 0; n < N; ++n) one = one && strides[last][n] == stride[n] * extent;
      if (one) {
        extents[last] *= extent;
        strides[last] = stride;
        return;
      }
    }
    extents[static_cast<std::size_t>(rank)] = extent;
    strides[static_cast<std::size_t>(rank)] = stride;
    ++rank;
  }
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extents[static_cast<std::size_t>(i)];
    return product;
  }
  std::int64_t& extent(int i) { return extents[static_cast<std::size_t>(i)]; }
  Strides& stride(int i) { return strides[static_cast<std::size_t>(i)]; }
  std::int64_t extent(int i) const { return extents[static_cast<std::size_t>(i)]; }
  const Strides& stride(int i) const { return strides[static_cast<std::size_t>(i)]; }
};

/// Calls body(piece, offsets) for pieces of at most kMostIndexed elements which are `walk`
/// together; offsets are where a piece begins in each array.
template <int N, typename Body>
void for_pieces(const Walk<N>& walk, const Body& body, typename Walk<N>::Strides offsets = {}) {
  if (walk.elements() <= kMostIndexed) return body(walk, offsets);
  // The outermost dimension has at least two elements: those of one were left out.
  std::int64_t half = walk.extents[0] / 2;
  if (half > kWholeWords) half -= half % kWholeWords;
  for (const std::int64_t extent : {half, walk.extents[0] - half}) {
    Walk<N> piece;
    piece.add(extent, walk.strides[0]);
    for (int i = 1; i < walk.rank; ++i) piece.add(walk.extent(i), walk.stride(i));
    for_pieces(piece, body, offsets);
    for (std::size_t n = 0; n < N; ++n) offsets[n] += extent * walk.strides[0][n];
  }
}

/// A walk as a kernel's parameter.
template <int N>
struct Index {
  int rank = 0;
  Divider extent[kMaxRank];
  std::int64_t stride[kMaxRank][N] = {};

  Index() = default;
  explicit Index(const Walk<N>& walk) : rank(walk.rank) {
    for (int i = 0; i < rank; ++i) {
      extent[i] = Divider(walk.extent(i));
      for (int n = 0; n < N; ++n) stride[i][n] = walk.stride(i)[static_cast<std::size_t>(n)];
    }
  }

  /// Where element `i`, counted in row-major order, is in each array.
  __device__ __forceinline__ void locate(std::uint32_t i, std::int64_t (&at)[N]) const {
#pragma unroll
    for (int n = 0; n < N; ++n) at[n] = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const std::uint32_t here = d == 0 ? i : extent[d].divide(i);
#pragma unroll
      for (int n = 0; n < N; ++n) at[n] += static_cast<std::int64_t>(here) * stride[d][n];
    }
  }
};

}  // namespace plimsoll::cuda
