#pragma once

#include <cstdint>

namespace plimsoll {

/// Where the channels of pictures are, as the caller sees them: [n, channels, height, width] or
/// [n, height, width, channels], and the same without n for single pictures. In which order a plan
/// keeps them in memory is the planner's choice.
enum class Layout : std::uint8_t { channels_first, channels_last };

}  // namespace plimsoll
