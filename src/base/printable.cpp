#include <plimsoll/base/printable.h>

#include <cstddef>

#include <fmt/format.h>

namespace plimsoll {
namespace {

constexpr std::size_t kShown = 400;

/// Bytes of the UTF-8 character at the beginning of `text` that can be shown; 0 if there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length == 2 && first == 0xc2 && byte(1) < 0xa0) return 0;   // C1 controls
  if (length == 3 && first == 0xe0 && byte(1) < 0xa0) return 0;   // too long for what it means
  if (length == 3 && first == 0xed && byte(1) >= 0xa0) return 0;  // surrogates
  if (length == 4 && first == 0xf0 && byte(1) < 0x90) return 0;
  if (length == 4 && first == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else if (text[0] == '\n') {
      out += "\\n";
    } else if (text[0] == '\t') {
      out += "\\t";
    } else if (text[0] == '\r') {
      out += "\\r";
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  if (text.size() <= kShown) return escaped(text);
  return escaped(text.substr(0, kShown / 2)) + "..." +
         escaped(text.substr(text.size() - kShown / 2));
}

}  // namespace plimsoll
