#include "data/image/jpeg_idct.h"

#if defined(__x86_64__)

// gcc 12 warns of values that its own header leaves open on purpose.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include <cstring>

#define PLIMSOLL_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define PLIMSOLL_WIDE(op) _mm512_##op

namespace plimsoll::image {
namespace {

using Vector = __m512i;
using Which = __mmask8;
constexpr int kBlocks = 4;

PLIMSOLL_TARGET inline Vector load(const void* p) { return _mm512_load_si512(p); }
PLIMSOLL_TARGET inline void store(void* p, Vector v) { _mm512_store_si512(p, v); }
PLIMSOLL_TARGET inline Vector zero() { return _mm512_setzero_si512(); }
PLIMSOLL_TARGET inline Vector both(Vector a, Vector b) { return _mm512_or_si512(a, b); }

PLIMSOLL_TARGET inline Which which_are_zero(Vector v) {
  return _mm512_cmpeq_epi64_mask(both(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC)), zero());
}
PLIMSOLL_TARGET inline Vector choose(Which which, Vector a, Vector b) {
  return _mm512_mask_blend_epi64(which, a, b);
}

PLIMSOLL_TARGET inline void store_rows(std::uint8_t* const* out, std::ptrdiff_t at,
                                       std::ptrdiff_t stride, Vector v) {
  const auto store_block = [&](std::uint8_t* to, __m128i rows) PLIMSOLL_TARGET {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + at), rows);
    _mm_storeh_pd(reinterpret_cast<double*>(to + at + stride), _mm_castsi128_pd(rows));
  };
  store_block(out[0], _mm512_castsi512_si128(v));
  store_block(out[1], _mm512_extracti32x4_epi32(v, 1));
  store_block(out[2], _mm512_extracti32x4_epi32(v, 2));
  store_block(out[3], _mm512_extracti32x4_epi32(v, 3));
}

#include "data/image/jpeg_idct_body.h"

}  // namespace

const JpegTransforms* avx512_jpeg_transforms() {
  static constexpr JpegTransforms transforms{kBlocks, fast8, accurate8, reduced4, reduced2};
  return avx2_jpeg_transforms() != nullptr && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
             ? &transforms
             : nullptr;
}

}  // namespace plimsoll::image

#else

namespace plimsoll::image {
const JpegTransforms* avx512_jpeg_transforms() { return nullptr; }
}  // namespace plimsoll::image

#endif
