#pragma once

#include <cstddef>
#include <cstdio>

namespace plimsoll::report {

/// True for a terminal on which a line can be drawn again.
bool can_redraw(std::FILE* out);

/// Columns of the terminal behind `out` as it is now; else $COLUMNS, else 80. At least 1.
std::size_t columns_of(std::FILE* out);

/// False where the locale of the environment (LC_ALL, LC_CTYPE, LANG) is one without UTF-8; true
/// where it says nothing, as in containers.
bool is_utf8_locale();

}  // namespace plimsoll::report
