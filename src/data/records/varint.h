#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::data {

/// Appends a number in protobuf's variable-length form.
inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// Takes one from the front of `bytes`; nullopt where it is cut off or longer than 64 bits.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  if (!bytes.empty() && static_cast<unsigned char>(bytes[0]) < 0x80) {
    const auto value = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    return value;
  }
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    result |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return result;
    }
  }
  return std::nullopt;
}

/// Takes a length and as many bytes; nullopt where there are fewer.
inline std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto size = take_varint(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, static_cast<std::size_t>(*size));
  bytes.remove_prefix(static_cast<std::size_t>(*size));
  return text;
}

}  // namespace plimsoll::data
