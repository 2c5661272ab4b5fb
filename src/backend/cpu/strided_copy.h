#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::cpu {

/// One dimension of a copy, outermost first: how many elements, and how far apart they are, in
/// elements. `from` may be 0: the same element again.
struct CopyDim {
  std::int64_t extent = 1;
  std::int64_t to = 0;
  std::int64_t from = 0;
};

/// Moves the elements that `dims` (at most kMaxRank) run through, of `size` bytes each (1, 2, 4 or
/// 8), in several threads where that pays. No element is written twice.
void copy_strided(void* to, const void* from, std::size_t size, std::span<const CopyDim> dims);

}  // namespace plimsoll::cpu
