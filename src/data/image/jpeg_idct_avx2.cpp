#include "data/image/jpeg_idct.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#define PLIMSOLL_AVX2 __attribute__((target("avx2")))

namespace plimsoll::image {
namespace {

// Eight rows of eight 16-bit values, of the first block in the lower halves, of the second in the
// upper ones.
struct Rows {
  __m256i r[8];
};

// The loops below stand for straight code on registers, which -O2 makes of them only if told.
PLIMSOLL_AVX2 inline Rows dequantise(BlockPair& blocks, const BlockPair& factors) {
  Rows x;
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    auto* row = reinterpret_cast<__m256i*>(blocks.values + 16 * i);
    x.r[i] = _mm256_mullo_epi16(
        _mm256_load_si256(row),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(factors.values + 16 * i)));
    _mm256_store_si256(row, _mm256_setzero_si256());
  }
  return x;
}

PLIMSOLL_AVX2 inline void transpose(Rows& x) {
  __m256i a[8];
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(x.r[2 * i], x.r[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi16(x.r[2 * i], x.r[2 * i + 1]);
  }
  __m256i b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < 2; ++j) {
      b[4 * i + 2 * j] = _mm256_unpacklo_epi32(a[4 * i + j], a[4 * i + 2 + j]);
      b[4 * i + 2 * j + 1] = _mm256_unpackhi_epi32(a[4 * i + j], a[4 * i + 2 + j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < 4; ++j) {
    x.r[2 * j] = _mm256_unpacklo_epi64(b[j], b[4 + j]);
    x.r[2 * j + 1] = _mm256_unpackhi_epi64(b[j], b[4 + j]);
  }
}

PLIMSOLL_AVX2 inline void store_halves(std::uint8_t* first, std::uint8_t* second, __m256i two) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(first), _mm256_castsi256_si128(two));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(second), _mm256_extracti128_si256(two, 1));
}

/// Takes columns, that is, rows of the transposed block, as signed values around 0.
PLIMSOLL_AVX2 inline void store_columns(std::uint8_t* first, std::uint8_t* second,
                                        std::ptrdiff_t stride, Rows& x) {
  transpose(x);
  const __m256i centre = _mm256_set1_epi8(-128);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    const __m256i two = _mm256_add_epi8(_mm256_packs_epi16(x.r[i], x.r[i + 1]), centre);
    store_halves(first + i * stride, second + i * stride, two);
    store_halves(first + (i + 1) * stride, second + (i + 1) * stride, _mm256_srli_si256(two, 8));
  }
}

PLIMSOLL_AVX2 inline __m256i add(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
PLIMSOLL_AVX2 inline __m256i sub(__m256i a, __m256i b) { return _mm256_sub_epi16(a, b); }

/// x * factor / 2^8, rounded down; the factor comes shifted up by 6.
PLIMSOLL_AVX2 inline __m256i scaled(__m256i x, int factor) {
  return _mm256_mulhi_epi16(_mm256_slli_epi16(x, 2), _mm256_set1_epi16(static_cast<short>(factor)));
}

PLIMSOLL_AVX2 inline void fast_pass(Rows& x) {
  constexpr int k1082 = 277 << 6;
  constexpr int k1414 = 362 << 6;
  constexpr int k1847 = 473 << 6;
  constexpr int k1613 = (669 - 256) * 64;

  const __m256i sum04 = add(x.r[0], x.r[4]);
  const __m256i difference04 = sub(x.r[0], x.r[4]);
  const __m256i sum26 = add(x.r[2], x.r[6]);
  const __m256i turned26 = sub(scaled(sub(x.r[2], x.r[6]), k1414), sum26);
  const __m256i even0 = add(sum04, sum26);
  const __m256i even3 = sub(sum04, sum26);
  const __m256i even1 = add(difference04, turned26);
  const __m256i even2 = sub(difference04, turned26);

  const __m256i z13 = add(x.r[5], x.r[3]);
  const __m256i z10 = sub(x.r[5], x.r[3]);
  const __m256i z11 = add(x.r[1], x.r[7]);
  const __m256i z12 = sub(x.r[1], x.r[7]);
  const __m256i odd0 = add(z11, z13);
  const __m256i z5 = scaled(add(z10, z12), k1847);
  const __m256i odd1 = sub(add(sub(scaled(z10, -k1613), z10), z5), odd0);
  const __m256i odd2 = sub(scaled(sub(z11, z13), k1414), odd1);
  const __m256i odd3 = add(sub(scaled(z12, k1082), z5), odd2);

  x.r[0] = add(even0, odd0);
  x.r[7] = sub(even0, odd0);
  x.r[1] = add(even1, odd1);
  x.r[6] = sub(even1, odd1);
  x.r[2] = add(even2, odd2);
  x.r[5] = sub(even2, odd2);
  x.r[4] = add(even3, odd3);
  x.r[3] = sub(even3, odd3);
}

PLIMSOLL_AVX2 void fast8(std::uint8_t* first, std::uint8_t* second, std::ptrdiff_t stride,
                         BlockPair& blocks, const BlockPair& factors) {
  Rows x = dequantise(blocks, factors);
  fast_pass(x);
  transpose(x);
  fast_pass(x);
#pragma GCC unroll 8
  for (__m256i& row : x.r) row = _mm256_srai_epi16(row, 5);
  store_columns(first, second, stride, x);
}

// 32-bit values of eight columns: of columns 0 to 3 and 4 to 7 of each block.
struct Wide {
  __m256i low, high;
};
PLIMSOLL_AVX2 inline Wide operator+(const Wide& a, const Wide& b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
PLIMSOLL_AVX2 inline Wide operator-(const Wide& a, const Wide& b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}

/// a * factor_a + b * factor_b
PLIMSOLL_AVX2 inline Wide weigh(__m256i a, int factor_a, __m256i b, int factor_b) {
  const __m256i factors = _mm256_set1_epi32((factor_b << 16) | (factor_a & 0xffff));
  return {_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), factors),
          _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), factors)};
}

/// a * 2^(16 - down)
PLIMSOLL_AVX2 inline Wide widen(__m256i a, int down) {
  const __m256i zero = _mm256_setzero_si256();
  return {_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, a), down),
          _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, a), down)};
}

/// a / 2^shift, rounded to nearest.
PLIMSOLL_AVX2 inline Wide descale(const Wide& a, int shift) {
  const __m256i half = _mm256_set1_epi32(1 << (shift - 1));
  return {_mm256_srai_epi32(_mm256_add_epi32(a.low, half), shift),
          _mm256_srai_epi32(_mm256_add_epi32(a.high, half), shift)};
}

/// The same in 16 bits, with saturation.
PLIMSOLL_AVX2 inline __m256i narrow(const Wide& a, int shift) {
  const Wide b = descale(a, shift);
  return _mm256_packs_epi32(b.low, b.high);
}

// The factors of Loeffler, Ligtenberg and Moschytz, in 13 bits.
constexpr int k0298 = 2446;
constexpr int k0390 = 3196;
constexpr int k0541 = 4433;
constexpr int k0765 = 6270;
constexpr int k0899 = 7373;
constexpr int k1175 = 9633;
constexpr int k1501 = 12299;
constexpr int k1847 = 15137;
constexpr int k1961 = 16069;
constexpr int k2053 = 16819;
constexpr int k2562 = 20995;
constexpr int k3072 = 25172;

PLIMSOLL_AVX2 inline void accurate_pass(Rows& x, int shift) {
  const Wide turned2 = weigh(x.r[2], k0541, x.r[6], k0541 - k1847);
  const Wide turned3 = weigh(x.r[2], k0541 + k0765, x.r[6], k0541);
  const Wide sum04 = widen(_mm256_add_epi16(x.r[0], x.r[4]), 3);
  const Wide difference04 = widen(_mm256_sub_epi16(x.r[0], x.r[4]), 3);
  const Wide even0 = sum04 + turned3;
  const Wide even3 = sum04 - turned3;
  const Wide even1 = difference04 + turned2;
  const Wide even2 = difference04 - turned2;

  const __m256i sum37 = _mm256_add_epi16(x.r[7], x.r[3]);
  const __m256i sum15 = _mm256_add_epi16(x.r[5], x.r[1]);
  const Wide z3 = weigh(sum37, k1175 - k1961, sum15, k1175);
  const Wide z4 = weigh(sum37, k1175, sum15, k1175 - k0390);
  const Wide odd3 = weigh(x.r[7], k0298 - k0899, x.r[1], -k0899) + z3;
  const Wide odd0 = weigh(x.r[7], -k0899, x.r[1], k1501 - k0899) + z4;
  const Wide odd2 = weigh(x.r[5], k2053 - k2562, x.r[3], -k2562) + z4;
  const Wide odd1 = weigh(x.r[5], -k2562, x.r[3], k3072 - k2562) + z3;

  x.r[0] = narrow(even0 + odd0, shift);
  x.r[7] = narrow(even0 - odd0, shift);
  x.r[1] = narrow(even1 + odd1, shift);
  x.r[6] = narrow(even1 - odd1, shift);
  x.r[2] = narrow(even2 + odd2, shift);
  x.r[5] = narrow(even2 - odd2, shift);
  x.r[3] = narrow(even3 + odd3, shift);
  x.r[4] = narrow(even3 - odd3, shift);
}

/// All ones for a block that has coefficients in its first row only, but for one row that does not
/// count (0: all do).
PLIMSOLL_AVX2 inline __m256i first_row_only(const BlockPair& blocks, int unused) {
  __m256i rest = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int i = 1; i < 8; ++i) {
    if (i == unused) continue;
    rest = _mm256_or_si256(
        rest, _mm256_load_si256(reinterpret_cast<const __m256i*>(blocks.values + 16 * i)));
  }
  const __m256i zero = _mm256_cmpeq_epi64(rest, _mm256_setzero_si256());
  return _mm256_and_si256(zero, _mm256_shuffle_epi32(zero, 0x4e));
}

/// What libjpeg's vector code does with such blocks in the first pass: the same as otherwise, but
/// what does not fit 16 bits wraps instead of saturating.
PLIMSOLL_AVX2 inline void wrap(Rows& x, __m256i first_row, __m256i which) {
  const __m256i scaled_row = _mm256_slli_epi16(first_row, 2);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) x.r[i] = _mm256_blendv_epi8(x.r[i], scaled_row, which);
}

PLIMSOLL_AVX2 void accurate8(std::uint8_t* first, std::uint8_t* second, std::ptrdiff_t stride,
                             BlockPair& blocks, const BlockPair& factors) {
  const __m256i flat = first_row_only(blocks, 0);
  Rows x = dequantise(blocks, factors);
  const __m256i first_row = x.r[0];
  accurate_pass(x, 11);
  wrap(x, first_row, flat);
  transpose(x);
  accurate_pass(x, 18);
  store_columns(first, second, stride, x);
}

/// From eight rows, of which the fifth does not count, to four.
PLIMSOLL_AVX2 inline void reduce4_pass(Rows& x, int shift) {
  const Wide centre = widen(x.r[0], 2);
  const Wide turned = weigh(x.r[2], k1847, x.r[6], -k0765);
  const Wide even0 = centre + turned;
  const Wide even1 = centre - turned;
  // 0.211164243, 1.451774981, 2.172734803, 1.061594337
  const Wide odd1 = weigh(x.r[7], -1730, x.r[5], 11893) + weigh(x.r[3], -17799, x.r[1], 8697);
  // 0.509795579, 0.601344887, 0.899976223, 2.562915447
  const Wide odd0 = weigh(x.r[7], -4176, x.r[5], -4926) + weigh(x.r[3], k0899, x.r[1], k2562);
  x.r[0] = narrow(even0 + odd0, shift);
  x.r[3] = narrow(even0 - odd0, shift);
  x.r[1] = narrow(even1 + odd1, shift);
  x.r[2] = narrow(even1 - odd1, shift);
}

PLIMSOLL_AVX2 void reduced4(std::uint8_t* first, std::uint8_t* second, std::ptrdiff_t stride,
                            BlockPair& blocks, const BlockPair& factors) {
  const __m256i flat = first_row_only(blocks, 4);
  Rows x = dequantise(blocks, factors);
  const __m256i first_row = x.r[0];
  reduce4_pass(x, 12);
  wrap(x, first_row, flat);
#pragma GCC unroll 8
  for (int i = 4; i < 8; ++i) x.r[i] = x.r[0];
  transpose(x);
  reduce4_pass(x, 19);
  // Columns of four values each, then rows of four bytes.
  const __m256i pairs0 = _mm256_unpacklo_epi16(x.r[0], x.r[1]);
  const __m256i pairs1 = _mm256_unpacklo_epi16(x.r[2], x.r[3]);
  const __m256i bytes = _mm256_add_epi8(_mm256_packs_epi16(_mm256_unpacklo_epi32(pairs0, pairs1),
                                                           _mm256_unpackhi_epi32(pairs0, pairs1)),
                                        _mm256_set1_epi8(-128));
  alignas(32) std::uint8_t rows[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows), bytes);
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    std::memcpy(first + i * stride, rows + 4 * i, 4);
    std::memcpy(second + i * stride, rows + 16 + 4 * i, 4);
  }
}

/// What the odd ones of eight rows add to the first of two, and take from the second.
PLIMSOLL_AVX2 inline Wide reduce2_odd(const Rows& x) {
  // 0.720959822, 0.850430095, 1.272758580, 3.624509785
  return weigh(x.r[7], -5906, x.r[5], 6967) + weigh(x.r[3], -10426, x.r[1], 29692);
}

PLIMSOLL_AVX2 void reduced2(std::uint8_t* first, std::uint8_t* second, std::ptrdiff_t stride,
                            BlockPair& blocks, const BlockPair& factors) {
  Rows x = dequantise(blocks, factors);
  const Wide centre = widen(x.r[0], 1);
  const Wide odd = reduce2_odd(x);
  const Wide top = descale(centre + odd, 13);
  const Wide bottom = descale(centre - odd, 13);
  // The first column keeps its 32 bits.
  const __m256i column = _mm256_slli_epi32(_mm256_unpacklo_epi32(top.low, bottom.low), 15);
  x.r[0] = _mm256_packs_epi32(top.low, top.high);
  x.r[1] = _mm256_packs_epi32(bottom.low, bottom.high);
#pragma GCC unroll 8
  for (int i = 2; i < 8; ++i) x.r[i] = x.r[0];
  transpose(x);
  const Wide across = reduce2_odd(x);
  const Wide base{column, column};
  const __m256i bytes = _mm256_add_epi8(
      _mm256_packs_epi16(
          _mm256_unpacklo_epi16(narrow(base + across, 20), narrow(base - across, 20)), column),
      _mm256_set1_epi8(-128));
  alignas(32) std::uint8_t rows[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows), bytes);
  for (int i = 0; i < 2; ++i) {
    std::memcpy(first + i * stride, rows + 2 * i, 2);
    std::memcpy(second + i * stride, rows + 16 + 2 * i, 2);
  }
}

}  // namespace

const JpegTransforms* avx2_jpeg_transforms() {
  static constexpr JpegTransforms transforms{fast8, accurate8, reduced4, reduced2};
  // What goes with these transforms (JpegScan) is compiled for BMI as well.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                 __builtin_cpu_supports("bmi2")
             ? &transforms
             : nullptr;
}

}  // namespace plimsoll::image

#else

namespace plimsoll::image {
const JpegTransforms* avx2_jpeg_transforms() { return nullptr; }
}  // namespace plimsoll::image

#endif
