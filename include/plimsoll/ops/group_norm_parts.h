#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::ops {

/// So many parts of pictures are normalised at a time on a GPU, if there are not more pictures.
inline constexpr std::int64_t kGroupParts = 396;

/// The most numbers that group normalisation stores between its passes on a GPU: two sums for each
/// channel of each part, two shares for each group.
inline std::int64_t group_norm_numbers(std::int64_t pictures, std::int64_t channels,
                                       std::int64_t groups) {
  return 2 * std::max(pictures, kGroupParts) * channels + 2 * pictures * groups;
}

}  // namespace plimsoll::ops
