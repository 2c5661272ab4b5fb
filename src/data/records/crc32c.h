#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::data {

/// CRC-32C (Castagnoli) of `bytes` at `data`, going on from `before`. With the processor's own
/// instruction where it has one.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before = 0);
/// The same by tables, for comparison.
std::uint32_t crc32c_tables(const void* data, std::size_t bytes, std::uint32_t before = 0);

/// As TFRecord stores it, so that the checksum of what holds checksums is no constant.
constexpr std::uint32_t masked_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace plimsoll::data
