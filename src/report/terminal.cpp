#include "report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace plimsoll::report {

bool can_redraw(std::FILE* out) {
  const char* const term = std::getenv("TERM");  // NOLINT: read, not kept
  return ::isatty(::fileno(out)) != 0 && term != nullptr && *term != '\0' &&
         std::strcmp(term, "dumb") != 0;
}

std::size_t columns_of(std::FILE* out) {
  winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");  // NOLINT: read, not kept
  const long stated = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return stated > 0 && stated < 10'000 ? static_cast<std::size_t>(stated) : 80;
}

bool is_utf8_locale() {
  for (const char* const name : std::array{"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);  // NOLINT: read, not kept
    if (value == nullptr || *value == '\0') continue;
    return ::strcasestr(value, "UTF-8") != nullptr || ::strcasestr(value, "UTF8") != nullptr;
  }
  return true;
}

}  // namespace plimsoll::report
