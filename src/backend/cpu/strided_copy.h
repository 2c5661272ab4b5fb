#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/backend/common/strided_move.h>

namespace plimsoll::cpu {

using backend::CopyDim;

/// Moves the elements that `dims` (at most kMaxRank) run through, of `size` bytes each (1, 2, 4 or
/// 8), in several threads where that pays. No element is written twice.
void copy_strided(void* to, const void* from, std::size_t size, std::span<const CopyDim> dims);

}  // namespace plimsoll::cpu
