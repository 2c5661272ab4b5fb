#pragma once

#include <plimsoll/base/bytes.h>

namespace plimsoll {

/// Unmaps the pages of the program and its libraries that are the same as in their files: code and
/// constants. Those that are used again are mapped again from the system's cache, without copying
/// them; those that only work like planning needed no longer count as memory of this process. Pages
/// that were written to (relocations, breakpoints) and locked ones stay. Returns the bytes
/// unmapped; 0 where the system does not tell which pages are unchanged.
Bytes release_library_pages();

}  // namespace plimsoll
