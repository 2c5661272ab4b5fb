#pragma once

namespace plimsoll::testing {

/// True if a sanitizer checks every access: computing takes several times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

}  // namespace plimsoll::testing
