#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// `text`, such as a file's name, as it can be shown on one line: control characters and bytes that
/// are not UTF-8 are written "\n" and "\x1b". Of more than 400 bytes the beginning and the end.
std::string printable(std::string_view text);

}  // namespace plimsoll
