#pragma once

#include <set>
#include <string>

namespace plimsoll::report {

/// UTF-8 for formats that demand it: other bytes become U+FFFD.
std::string valid_text(const std::string& text);

/// A name for a folder made of any text: letters, digits, '.', '-' and '_', at most 100 of them,
/// and none of `taken`, which it is added to.
std::string folder_name(const std::string& text, std::set<std::string>& taken);

}  // namespace plimsoll::report
