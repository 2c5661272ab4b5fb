#include "data/records/crc32c.h"

#include <array>
#include <cstring>

namespace plimsoll::data {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
/// The instruction takes three cycles and one can begin in each: three lanes of this many bytes run
/// side by side and are joined.
constexpr std::size_t kLane = 1024;

/// What `kLane` zero bytes after it do to a checksum, by byte of it.
using ShiftTable = std::array<std::array<std::uint32_t, 256>, 4>;

ShiftTable make_shift_table() {
  ShiftTable table{};
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kLane; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
    bits[bit] = crc;
  }
  for (std::size_t byte = 0; byte < 4; ++byte) {
    for (std::size_t value = 0; value < 256; ++value) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1) != 0) table[byte][value] ^= bits[byte * 8 + bit];
      }
    }
  }
  return table;
}

std::uint32_t shifted(const ShiftTable& table, std::uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^
         table[3][crc >> 24];
}

std::uint64_t word_at(const unsigned char* data) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(const unsigned char* data,
                                                                   std::size_t bytes,
                                                                   std::uint32_t crc) {
  static const ShiftTable kShift = make_shift_table();
  std::uint64_t first = crc;
  for (; bytes >= 3 * kLane; bytes -= 3 * kLane, data += 3 * kLane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      first = __builtin_ia32_crc32di(first, word_at(data + i));
      second = __builtin_ia32_crc32di(second, word_at(data + kLane + i));
      third = __builtin_ia32_crc32di(third, word_at(data + 2 * kLane + i));
    }
    second ^= shifted(kShift, static_cast<std::uint32_t>(first));
    first = third ^ shifted(kShift, static_cast<std::uint32_t>(second));
  }
  for (; bytes >= 8; bytes -= 8, data += 8) first = __builtin_ia32_crc32di(first, word_at(data));
  auto rest = static_cast<std::uint32_t>(first);
  for (; bytes > 0; --bytes, ++data) rest = __builtin_ia32_crc32qi(rest, *data);
  return rest;
}
#endif

}  // namespace

std::uint32_t crc32c_tables(const void* data, std::size_t bytes, std::uint32_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint32_t crc = ~before;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const std::uint32_t low = crc ^ (std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 |
                                     std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24);
    crc = kTables[7][low & 0xFF] ^ kTables[6][low >> 8 & 0xFF] ^ kTables[5][low >> 16 & 0xFF] ^
          kTables[4][low >> 24] ^ kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^
          kTables[0][at[7]];
  }
  for (; bytes > 0; --bytes, ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool kHas = __builtin_cpu_supports("sse4.2") != 0;
  if (kHas) return ~crc32c_instruction(static_cast<const unsigned char*>(data), bytes, ~before);
#endif
  return crc32c_tables(data, bytes, before);
}

}  // namespace plimsoll::data
