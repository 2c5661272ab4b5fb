#pragma once

#include <span>
#include <string_view>

namespace plimsoll::cuda {

/// A header as sources include it, and its text.
struct RtcHeader {
  std::string_view name;
  std::string_view text;
};

/// What generated programs include, from the sources of this build.
std::span<const RtcHeader> rtc_headers();

}  // namespace plimsoll::cuda
