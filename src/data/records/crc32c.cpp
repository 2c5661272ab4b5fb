#include "data/records/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
constexpr std::size_t kLane = 768;

/// What a number of zero bytes after it do to a checksum, by byte of it.
using ShiftTable = std::array<std::array<std::uint32_t, 256>, 4>;

ShiftTable make_shift_table(std::size_t zeros) {
  ShiftTable table{};
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < zeros; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
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

/// Over one lane.
const ShiftTable& lane_shift() {
  static const ShiftTable kShift = make_shift_table(kLane);
  return kShift;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(const unsigned char* data,
                                                                   std::size_t bytes,
                                                                   std::uint32_t crc) {
  const ShiftTable& shift = lane_shift();
  std::uint64_t first = crc;
  for (; bytes >= 3 * kLane; bytes -= 3 * kLane, data += 3 * kLane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      first = __builtin_ia32_crc32di(first, word_at(data + i));
      second = __builtin_ia32_crc32di(second, word_at(data + kLane + i));
      third = __builtin_ia32_crc32di(third, word_at(data + 2 * kLane + i));
    }
    second ^= shifted(shift, static_cast<std::uint32_t>(first));
    first = third ^ shifted(shift, static_cast<std::uint32_t>(second));
  }
  for (; bytes >= 8; bytes -= 8, data += 8) first = __builtin_ia32_crc32di(first, word_at(data));
  auto rest = static_cast<std::uint32_t>(first);
  for (; bytes > 0; --bytes, ++data) rest = __builtin_ia32_crc32qi(rest, *data);
  return rest;
}

#define PLIMSOLL_FOLDING __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))

/// Bytes that two registers hold, and by how much one step moves them on.
constexpr std::size_t kFolded = 64;

/// x to the power of `n` modulo the polynomial, reflected.
constexpr std::uint64_t power_of_x(int n) {
  std::uint32_t value = 0x80000000U;
  for (int i = 0; i < n; ++i) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
  return value;
}

PLIMSOLL_FOLDING inline __m256i loaded(const unsigned char* data) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
}

/// What `before` is worth `kFolded` bytes later, and the bytes there.
PLIMSOLL_FOLDING inline __m256i folded(__m256i before, __m256i powers, const unsigned char* data) {
  const __m256i low = _mm256_clmulepi64_epi128(before, powers, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(before, powers, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), loaded(data));
}

PLIMSOLL_FOLDING inline std::uint64_t three_words(std::uint64_t crc, const unsigned char* data) {
  crc = __builtin_ia32_crc32di(crc, word_at(data));
  crc = __builtin_ia32_crc32di(crc, word_at(data + 8));
  return __builtin_ia32_crc32di(crc, word_at(data + 16));
}

/// The instruction's three lanes, and carry-less products of what lies before them, at the same
/// time: they use different parts of the processor. Pieces do not wait for the one before.
PLIMSOLL_FOLDING std::uint32_t crc32c_folding(const unsigned char* data, std::size_t bytes,
                                              std::uint32_t crc) {
  constexpr std::size_t kSteps = kLane / 24;
  constexpr std::size_t kFront = (kSteps + 1) * kFolded;
  constexpr std::size_t kPiece = kFront + 3 * kLane;
  constexpr std::uint64_t kLow = power_of_x(8 * kFolded + 31);
  constexpr std::uint64_t kHigh = power_of_x(8 * kFolded - 33);
  static const ShiftTable kPieceShift = make_shift_table(kPiece);
  const ShiftTable& shift = lane_shift();
  const __m256i powers = _mm256_set_epi64x(kHigh, kLow, kHigh, kLow);
  for (; bytes >= kPiece; bytes -= kPiece, data += kPiece) {
    __m256i a = loaded(data);
    __m256i b = loaded(data + 32);
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      const unsigned char* const front = data + (step + 1) * kFolded;
      a = folded(a, powers, front);
      b = folded(b, powers, front + 32);
      const unsigned char* const lane = data + kFront + step * 24;
      first = three_words(first, lane);
      second = three_words(second, lane + kLane);
      third = three_words(third, lane + 2 * kLane);
    }
    alignas(32) std::array<unsigned char, kFolded> rest;
    auto* const to = reinterpret_cast<__m256i*>(rest.data());
    _mm256_store_si256(to, a);
    _mm256_store_si256(to + 1, b);
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < kFolded; i += 8) {
      before = __builtin_ia32_crc32di(before, word_at(rest.data() + i));
    }
    first ^= shifted(shift, static_cast<std::uint32_t>(before));
    second ^= shifted(shift, static_cast<std::uint32_t>(first));
    third ^= shifted(shift, static_cast<std::uint32_t>(second));
    crc = static_cast<std::uint32_t>(third) ^ shifted(kPieceShift, crc);
  }
  return crc32c_instruction(data, bytes, crc);
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
  static const bool kFolds = kHas && __builtin_cpu_supports("pclmul") != 0 &&
                             __builtin_cpu_supports("avx2") != 0 &&
                             __builtin_cpu_supports("vpclmulqdq") != 0;
  const auto* const at = static_cast<const unsigned char*>(data);
  if (kFolds) return ~crc32c_folding(at, bytes, ~before);
  if (kHas) return ~crc32c_instruction(at, bytes, ~before);
#endif
  return crc32c_tables(data, bytes, before);
}

}  // namespace plimsoll::data
