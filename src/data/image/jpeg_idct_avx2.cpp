#include "data/image/jpeg_idct.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#define PLIMSOLL_TARGET __attribute__((target("avx2")))
#define PLIMSOLL_WIDE(op) _mm256_##op

namespace plimsoll::image {
namespace {

using Vector = __m256i;
using Which = __m256i;
constexpr int kBlocks = 2;

PLIMSOLL_TARGET inline Vector load(const void* p) {
  return _mm256_load_si256(static_cast<const __m256i*>(p));
}
PLIMSOLL_TARGET inline void store(void* p, Vector v) {
  _mm256_store_si256(static_cast<__m256i*>(p), v);
}
PLIMSOLL_TARGET inline Vector zero() { return _mm256_setzero_si256(); }
PLIMSOLL_TARGET inline Vector both(Vector a, Vector b) { return _mm256_or_si256(a, b); }

PLIMSOLL_TARGET inline Which which_are_zero(Vector v) {
  const __m256i halves = _mm256_cmpeq_epi64(v, zero());
  return _mm256_and_si256(halves, _mm256_shuffle_epi32(halves, 0x4e));
}
PLIMSOLL_TARGET inline Vector choose(Which which, Vector a, Vector b) {
  return _mm256_blendv_epi8(a, b, which);
}

PLIMSOLL_TARGET inline void store_rows(std::uint8_t* const* out, std::ptrdiff_t at,
                                       std::ptrdiff_t stride, Vector v) {
  const auto store_block = [&](std::uint8_t* to, __m128i rows) PLIMSOLL_TARGET {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + at), rows);
    _mm_storeh_pd(reinterpret_cast<double*>(to + at + stride), _mm_castsi128_pd(rows));
  };
  store_block(out[0], _mm256_castsi256_si128(v));
  store_block(out[1], _mm256_extracti128_si256(v, 1));
}

#include "data/image/jpeg_idct_body.h"

}  // namespace

const JpegTransforms* avx2_jpeg_transforms() {
  static constexpr JpegTransforms transforms{kBlocks, fast8, accurate8, reduced4, reduced2};
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
