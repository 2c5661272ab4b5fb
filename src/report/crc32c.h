#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll::report {

/// The checksum of TensorFlow's records (Castagnoli's polynomial, reflected).
inline std::uint32_t crc32c(std::string_view text) {
  static constexpr std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table = {};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
      }
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return ~crc;
}

}  // namespace plimsoll::report
