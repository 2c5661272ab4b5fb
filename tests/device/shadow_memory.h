#pragma once

namespace plimsoll {

/// True if a sanitizer keeps memory of its own about ours, so that the RSS says little.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kShadowMemory = true;
#else
inline constexpr bool kShadowMemory = false;
#endif

}  // namespace plimsoll
