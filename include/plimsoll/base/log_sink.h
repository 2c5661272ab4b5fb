#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace plimsoll {

enum class LogLevel : std::uint8_t { debug, info, warning };

/// What gets the library's messages in place of stderr: a logging system of the program's own. It
/// is called by any thread, which may hold locks of the library's: it must neither throw, nor wait,
/// nor call the library.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Sends messages of every level to `sink`, and PLIMSOLL_LOG decides nothing any more; nullptr: to
/// stderr again. Returns when no thread is in the one before. Thread-safe.
void set_log_sink(LogSink sink);

}  // namespace plimsoll
