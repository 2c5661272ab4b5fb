#include "data/image/kernels_avx2.h"

// Intrinsics rather than Highway: Highway is optional in this build, and these few rows would need
// a second implementation where it is missing.
#if defined(__x86_64__)

#include <immintrin.h>

#define PLIMSOLL_AVX2 __attribute__((target("avx2")))

namespace plimsoll::image {
namespace {

PLIMSOLL_AVX2 __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
PLIMSOLL_AVX2 __m256i load_words(const std::uint8_t* p) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
PLIMSOLL_AVX2 void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

PLIMSOLL_AVX2 void blend_rows(std::uint16_t* sum, const std::uint8_t* near, const std::uint8_t* far,
                              int n) {
  for (int i = 0; i < n; i += 16) {
    const __m256i a = load_words(near + i);
    const __m256i b = load_words(far + i);
    store(sum + i, _mm256_add_epi16(_mm256_add_epi16(a, _mm256_slli_epi16(a, 1)), b));
  }
}

/// 3 * near + far of 32 samples: of the lower eight of each half, and of the upper eight.
struct Sums {
  __m256i low, high;
};
PLIMSOLL_AVX2 Sums sums_of(const std::uint8_t* near, const std::uint8_t* far) {
  const __m256i weights = _mm256_set1_epi16(1 << 8 | 3);
  const __m256i a = load(near);
  const __m256i b = load(far);
  return {_mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights),
          _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights)};
}

struct Doubling {
  __m256i even_bias, odd_bias;
  __m128i shift;
};
/// Two bytes for each of the sums `here`.
PLIMSOLL_AVX2 __m256i doubled(__m256i before, __m256i here, __m256i after, const Doubling& k) {
  const __m256i three = _mm256_add_epi16(here, _mm256_slli_epi16(here, 1));
  const __m256i even =
      _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(three, before), k.even_bias), k.shift);
  const __m256i odd =
      _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(three, after), k.odd_bias), k.shift);
  return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

PLIMSOLL_AVX2 void double_columns(std::uint8_t* out, const std::uint8_t* near,
                                  const std::uint8_t* far, int n, int even_bias, int odd_bias,
                                  int shift) {
  const Doubling k{_mm256_set1_epi16(static_cast<short>(even_bias)),
                   _mm256_set1_epi16(static_cast<short>(odd_bias)), _mm_cvtsi32_si128(shift)};
  for (int i = 0; i < n; i += 32) {
    const Sums before = sums_of(near + i - 1, far + i - 1);
    const Sums here = sums_of(near + i, far + i);
    const Sums after = sums_of(near + i + 1, far + i + 1);
    const __m256i low = doubled(before.low, here.low, after.low, k);
    const __m256i high = doubled(before.high, here.high, after.high, k);
    store(out + 2 * i, _mm256_permute2x128_si256(low, high, 0x20));
    store(out + 2 * i + 32, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

// What libjpeg adds to luma for one chroma pair, rounded as there: 1.402 = 1 + 0.402,
// 1.772 = 2 - 0.228, 0.71414 = 1 - 0.28586, so that every factor fits 15 bits.
struct Offsets {
  __m256i red, green, blue;
};
PLIMSOLL_AVX2 Offsets chroma_offsets(__m256i cb, __m256i cr) {
  const __m256i red_factor = _mm256_set1_epi16(26345);    // 0.40200 * 2^16
  const __m256i blue_factor = _mm256_set1_epi16(-14942);  // -0.22800 * 2^16
  const __m256i green_factor = _mm256_set1_epi32((18734 << 16) | (-22554 & 0xffff));
  const __m256i half = _mm256_set1_epi32(1 << 15);
  const __m256i one = _mm256_set1_epi16(1);

  const __m256i r = _mm256_mulhi_epi16(_mm256_slli_epi16(cr, 1), red_factor);
  const __m256i b = _mm256_mulhi_epi16(_mm256_slli_epi16(cb, 1), blue_factor);
  const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), green_factor);
  const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), green_factor);
  const __m256i g = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), 16),
                                       _mm256_srai_epi32(_mm256_add_epi32(high, half), 16));
  return {
      _mm256_add_epi16(_mm256_srai_epi16(_mm256_add_epi16(r, one), 1), cr), _mm256_sub_epi16(g, cr),
      _mm256_add_epi16(_mm256_srai_epi16(_mm256_add_epi16(b, one), 1), _mm256_slli_epi16(cb, 1))};
}

PLIMSOLL_AVX2 void ycc_to_rgbx(std::uint8_t* rgbx, const std::uint8_t* y, const std::uint8_t* cb,
                               const std::uint8_t* cr, int n) {
  const __m256i centre = _mm256_set1_epi16(128);
  const __m256i opaque = _mm256_set1_epi8(-1);
  for (int i = 0; i < n; i += 16) {
    const Offsets add = chroma_offsets(_mm256_sub_epi16(load_words(cb + i), centre),
                                       _mm256_sub_epi16(load_words(cr + i), centre));
    const __m256i luma = load_words(y + i);
    // Each 128-bit half holds eight pixels; packing red beside blue keeps them in step.
    const __m256i red_blue =
        _mm256_packus_epi16(_mm256_add_epi16(luma, add.red), _mm256_add_epi16(luma, add.blue));
    const __m256i green = _mm256_packus_epi16(_mm256_add_epi16(luma, add.green), centre);
    const __m256i red_green = _mm256_unpacklo_epi8(red_blue, green);
    const __m256i blue_x = _mm256_unpackhi_epi8(red_blue, opaque);
    const __m256i first = _mm256_unpacklo_epi16(red_green, blue_x);
    const __m256i second = _mm256_unpackhi_epi16(red_green, blue_x);
    store(rgbx + 4 * i, _mm256_permute2x128_si256(first, second, 0x20));
    store(rgbx + 4 * i + 32, _mm256_permute2x128_si256(first, second, 0x31));
  }
}

PLIMSOLL_AVX2 void resize_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps,
                                  int n) {
  // In each half, two pixels as words become pairs of words: left and right of each channel.
  const __m256i pair = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  for (int x = 0; x < n; x += 2) {
    const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + taps.offsets[x]));
    const __m128 both = _mm_loadh_pi(_mm_castsi128_ps(first),
                                     reinterpret_cast<const __m64*>(row + taps.offsets[x + 1]));
    const __m256i words = _mm256_cvtepu8_epi16(_mm_castps_si128(both));
    const __m256i sums =
        _mm256_madd_epi16(_mm256_shuffle_epi8(words, pair), load(taps.weights + 8 * x));
    _mm256_storeu_ps(out + 4 * x, _mm256_cvtepi32_ps(sums));
  }
}

/// The pixels of four bytes at `a` and `b`, as floats.
PLIMSOLL_AVX2 __m256 pixels_at(const std::uint8_t* a, const std::uint8_t* b) {
  const __m128i both = _mm_unpacklo_epi32(_mm_loadu_si32(a), _mm_loadu_si32(b));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(both));
}

PLIMSOLL_AVX2 void interpolate_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps,
                                       int n) {
  for (int x = 0; x < n; x += 2) {
    const std::uint8_t* first = row + taps.offsets[x];
    const std::uint8_t* second = row + taps.offsets[x + 1];
    const __m256 left = pixels_at(first, second);
    const __m256 step = _mm256_sub_ps(pixels_at(first + 4, second + 4), left);
    const __m256 share =
        _mm256_set_m128(_mm_set1_ps(taps.shares[x + 1]), _mm_set1_ps(taps.shares[x]));
    _mm256_storeu_ps(out + 4 * x, _mm256_add_ps(left, _mm256_mul_ps(step, share)));
  }
}

struct Blend {
  __m256 t, scale, bias;
};
PLIMSOLL_AVX2 Blend make_blend(float t, const float* scale, const float* bias) {
  return {_mm256_set1_ps(t), _mm256_broadcast_ps(reinterpret_cast<const __m128*>(scale)),
          _mm256_broadcast_ps(reinterpret_cast<const __m128*>(bias))};
}
PLIMSOLL_AVX2 __m256 blend_two(const float* a, const float* b, const Blend& k) {
  const __m256 low = _mm256_loadu_ps(a);
  const __m256 step = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(b), low), k.t);
  return _mm256_add_ps(_mm256_mul_ps(_mm256_add_ps(low, step), k.scale), k.bias);
}

PLIMSOLL_AVX2 void blend_pixels(float* out, const float* a, const float* b, float t,
                                const float* scale, const float* bias, int n) {
  const Blend k = make_blend(t, scale, bias);
  for (int i = 0; i < 4 * n; i += 8) _mm256_storeu_ps(out + i, blend_two(a + i, b + i, k));
}

PLIMSOLL_AVX2 void blend_pixels_rgb(float* out, const float* a, const float* b, float t,
                                    const float* scale, const float* bias, int n) {
  const Blend k = make_blend(t, scale, bias);
  int x = 0;
  // A store of four floats runs one into the next pixel, so the last pixel is left out.
  for (; x + 2 < n; x += 2) {
    const __m256 two = blend_two(a + 4 * x, b + 4 * x, k);
    _mm_storeu_ps(out + 3 * x, _mm256_castps256_ps128(two));
    _mm_storeu_ps(out + 3 * x + 3, _mm256_extractf128_ps(two, 1));
  }
  if (x < n) {
    generic_row_kernels().blend_pixels_rgb(out + 3 * x, a + 4 * x, b + 4 * x, t, scale, bias,
                                           n - x);
  }
}

PLIMSOLL_AVX2 void split_rgb(float* r, float* g, float* b, const float* pixels, int n) {
  int x = 0;
  for (; x + 4 <= n; x += 4) {
    __m128 p0 = _mm_loadu_ps(pixels + 4 * x);
    __m128 p1 = _mm_loadu_ps(pixels + 4 * x + 4);
    __m128 p2 = _mm_loadu_ps(pixels + 4 * x + 8);
    __m128 p3 = _mm_loadu_ps(pixels + 4 * x + 12);
    _MM_TRANSPOSE4_PS(p0, p1, p2, p3);
    _mm_storeu_ps(r + x, p0);
    _mm_storeu_ps(g + x, p1);
    _mm_storeu_ps(b + x, p2);
  }
  generic_row_kernels().split_rgb(r + x, g + x, b + x, pixels + 4 * x, n - x);
}

}  // namespace

const RowKernels* avx2_row_kernels() {
  static constexpr RowKernels kernels{.name = "avx2",
                                      .picks_columns = false,
                                      .blend_rows = blend_rows,
                                      .double_columns = double_columns,
                                      .ycc_to_rgbx = ycc_to_rgbx,
                                      .resize_columns = resize_columns,
                                      .interpolate_columns = interpolate_columns,
                                      .blend_pixels = blend_pixels,
                                      .blend_pixels_rgb = blend_pixels_rgb,
                                      .split_rgb = split_rgb};
  return __builtin_cpu_supports("avx2") ? &kernels : nullptr;
}

}  // namespace plimsoll::image

#else

namespace plimsoll::image {
const RowKernels* avx2_row_kernels() { return nullptr; }
}  // namespace plimsoll::image

#endif
