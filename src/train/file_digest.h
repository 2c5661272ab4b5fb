#pragma once

#include <string>
#include <string_view>

namespace plimsoll::train {

/// 64 bits of a file's contents in hexadecimal: a flipped bit, a lost piece or two that changed
/// places give others. Against accidents, not against intent. Throws DataError naming the file.
std::string file_digest(const std::string& path);
/// The same of a text in memory.
std::string text_digest(std::string_view text);

}  // namespace plimsoll::train
