#pragma once

#include <string_view>

namespace plimsoll {

/// Writes one line to stderr if the level in force lets it through. The level comes from the
/// environment variable PLIMSOLL_LOG (off, error, warning, info, debug), read at the first use;
/// without it warnings are shown and information is not. Thread-safe; does not throw.
void log_warning(std::string_view message) noexcept;
void log_info(std::string_view message) noexcept;
void log_debug(std::string_view message) noexcept;

}  // namespace plimsoll
