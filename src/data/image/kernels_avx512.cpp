#include "data/image/kernels_avx512.h"

#include "data/image/kernels_avx2.h"

#if defined(__x86_64__)

// gcc 12 warns of values that its own header leaves open on purpose.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#define PLIMSOLL_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace plimsoll::image {
namespace {

PLIMSOLL_AVX512 __m512i load(const void* p) { return _mm512_loadu_si512(p); }
PLIMSOLL_AVX512 __m512i load_words(const std::uint8_t* p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
PLIMSOLL_AVX512 void store(void* p, __m512i v) { _mm512_storeu_si512(p, v); }

/// The first `n` of 16, or all.
PLIMSOLL_AVX512 __mmask16 first_of_16(int n) {
  return n >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1U << n) - 1);
}

PLIMSOLL_AVX512 __m512i sums_of(const std::uint8_t* near, const std::uint8_t* far) {
  const __m512i a = load_words(near);
  return _mm512_add_epi16(_mm512_add_epi16(a, _mm512_slli_epi16(a, 1)), load_words(far));
}

PLIMSOLL_AVX512 void blend_rows(std::uint16_t* sum, const std::uint8_t* near,
                                const std::uint8_t* far, int n) {
  for (int i = 0; i < n; i += 32) store(sum + i, sums_of(near + i, far + i));
}

PLIMSOLL_AVX512 void double_columns(std::uint8_t* out, const std::uint8_t* near,
                                    const std::uint8_t* far, int n, int even_bias, int odd_bias,
                                    int shift) {
  const __m512i even_add = _mm512_set1_epi16(static_cast<short>(even_bias));
  const __m512i odd_add = _mm512_set1_epi16(static_cast<short>(odd_bias));
  const __m128i count = _mm_cvtsi32_si128(shift);
  for (int i = 0; i < n; i += 32) {
    const __m512i here = sums_of(near + i, far + i);
    const __m512i three = _mm512_add_epi16(here, _mm512_slli_epi16(here, 1));
    const __m512i before = sums_of(near + i - 1, far + i - 1);
    const __m512i after = sums_of(near + i + 1, far + i + 1);
    const __m512i even =
        _mm512_srl_epi16(_mm512_add_epi16(_mm512_add_epi16(three, before), even_add), count);
    const __m512i odd =
        _mm512_srl_epi16(_mm512_add_epi16(_mm512_add_epi16(three, after), odd_add), count);
    store(out + 2 * i, _mm512_or_si512(even, _mm512_slli_epi16(odd, 8)));
  }
}

// As with AVX2, where the factors are explained.
struct Offsets {
  __m512i red, green, blue;
};
PLIMSOLL_AVX512 Offsets chroma_offsets(__m512i cb, __m512i cr) {
  const __m512i red_factor = _mm512_set1_epi16(26345);
  const __m512i blue_factor = _mm512_set1_epi16(-14942);
  const __m512i green_factor = _mm512_set1_epi32((18734 << 16) | (-22554 & 0xffff));
  const __m512i half = _mm512_set1_epi32(1 << 15);
  const __m512i one = _mm512_set1_epi16(1);

  const __m512i r = _mm512_mulhi_epi16(_mm512_slli_epi16(cr, 1), red_factor);
  const __m512i b = _mm512_mulhi_epi16(_mm512_slli_epi16(cb, 1), blue_factor);
  const __m512i low = _mm512_madd_epi16(_mm512_unpacklo_epi16(cb, cr), green_factor);
  const __m512i high = _mm512_madd_epi16(_mm512_unpackhi_epi16(cb, cr), green_factor);
  const __m512i g = _mm512_packs_epi32(_mm512_srai_epi32(_mm512_add_epi32(low, half), 16),
                                       _mm512_srai_epi32(_mm512_add_epi32(high, half), 16));
  return {
      _mm512_add_epi16(_mm512_srai_epi16(_mm512_add_epi16(r, one), 1), cr), _mm512_sub_epi16(g, cr),
      _mm512_add_epi16(_mm512_srai_epi16(_mm512_add_epi16(b, one), 1), _mm512_slli_epi16(cb, 1))};
}

PLIMSOLL_AVX512 void ycc_to_rgbx(std::uint8_t* rgbx, const std::uint8_t* y, const std::uint8_t* cb,
                                 const std::uint8_t* cr, int n) {
  const __m512i centre = _mm512_set1_epi16(128);
  const __m512i opaque = _mm512_set1_epi8(-1);
  // From the quarters of `first` and `second` below, which hold four pixels each, to the order of
  // pixels.
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int i = 0; i < n; i += 32) {
    const Offsets add = chroma_offsets(_mm512_sub_epi16(load_words(cb + i), centre),
                                       _mm512_sub_epi16(load_words(cr + i), centre));
    const __m512i luma = load_words(y + i);
    const __m512i red_blue =
        _mm512_packus_epi16(_mm512_add_epi16(luma, add.red), _mm512_add_epi16(luma, add.blue));
    const __m512i green = _mm512_packus_epi16(_mm512_add_epi16(luma, add.green), centre);
    const __m512i red_green = _mm512_unpacklo_epi8(red_blue, green);
    const __m512i blue_x = _mm512_unpackhi_epi8(red_blue, opaque);
    const __m512i first = _mm512_unpacklo_epi16(red_green, blue_x);
    const __m512i second = _mm512_unpackhi_epi16(red_green, blue_x);
    // Rows have room behind them for 16 pixels, not for 32.
    store(rgbx + 4 * i, _mm512_permutex2var_epi64(first, left, second));
    _mm512_mask_storeu_epi32(rgbx + 4 * i + 64, first_of_16(n - i < 16 ? 0 : n - i - 16),
                             _mm512_permutex2var_epi64(first, right, second));
  }
}

PLIMSOLL_AVX512 void resize_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps,
                                    int n) {
  if (taps.picks == nullptr) {
    avx2_row_kernels()->resize_columns(out, row, taps, n);
    return;
  }
  constexpr __mmask64 kLowBytes = 0x5555555555555555;  // of words
  for (int x = 0; x < n; x += kColumnGroup) {
    const __m512i words = _mm512_maskz_permutexvar_epi8(kLowBytes, load(taps.picks + 16 * x),
                                                        load(row + taps.starts[x / kColumnGroup]));
    const __m512i sums = _mm512_madd_epi16(words, load(taps.weights + 8 * x));
    _mm512_storeu_ps(out + 4 * x, _mm512_cvtepi32_ps(sums));
  }
}

struct Blend {
  __m512 t, scale, bias;
};
PLIMSOLL_AVX512 Blend make_blend(float t, const float* scale, const float* bias) {
  return {_mm512_set1_ps(t), _mm512_broadcast_f32x4(_mm_loadu_ps(scale)),
          _mm512_broadcast_f32x4(_mm_loadu_ps(bias))};
}
/// Rounded before anything is added: from a plain product gcc would make a fused one.
PLIMSOLL_AVX512 __m512 product(__m512 a, __m512 b) {
  return _mm512_mul_round_ps(a, b, _MM_FROUND_CUR_DIRECTION);
}
PLIMSOLL_AVX512 __m512 blend_four(const float* a, const float* b, const Blend& k) {
  const __m512 low = _mm512_loadu_ps(a);
  const __m512 step = product(_mm512_sub_ps(_mm512_loadu_ps(b), low), k.t);
  return _mm512_add_ps(product(_mm512_add_ps(low, step), k.scale), k.bias);
}

PLIMSOLL_AVX512 void blend_pixels(float* out, const float* a, const float* b, float t,
                                  const float* scale, const float* bias, int n) {
  const Blend k = make_blend(t, scale, bias);
  for (int i = 0; i < 4 * n; i += 16) _mm512_storeu_ps(out + i, blend_four(a + i, b + i, k));
}

PLIMSOLL_AVX512 void blend_pixels_rgb(float* out, const float* a, const float* b, float t,
                                      const float* scale, const float* bias, int n) {
  const Blend k = make_blend(t, scale, bias);
  const __m512i rgb = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  for (int x = 0; x < n; x += 4) {
    const __m512 four = _mm512_permutexvar_ps(rgb, blend_four(a + 4 * x, b + 4 * x, k));
    _mm512_mask_storeu_ps(out + 3 * x, first_of_16(n - x < 4 ? 3 * (n - x) : 12), four);
  }
}

void interpolate_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps, int n) {
  avx2_row_kernels()->interpolate_columns(out, row, taps, n);
}
void split_rgb(float* r, float* g, float* b, const float* pixels, int n) {
  avx2_row_kernels()->split_rgb(r, g, b, pixels, n);
}

}  // namespace

const RowKernels* avx512_row_kernels() {
  static constexpr RowKernels kernels{.name = "avx512",
                                      .picks_columns = true,
                                      .blend_rows = blend_rows,
                                      .double_columns = double_columns,
                                      .ycc_to_rgbx = ycc_to_rgbx,
                                      .resize_columns = resize_columns,
                                      .interpolate_columns = interpolate_columns,
                                      .blend_pixels = blend_pixels,
                                      .blend_pixels_rgb = blend_pixels_rgb,
                                      .split_rgb = split_rgb};
  return avx2_row_kernels() != nullptr && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512vbmi")
             ? &kernels
             : nullptr;
}

}  // namespace plimsoll::image

#else

namespace plimsoll::image {
const RowKernels* avx512_row_kernels() { return nullptr; }
}  // namespace plimsoll::image

#endif
