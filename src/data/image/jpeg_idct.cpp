#include "data/image/jpeg_idct.h"

#include <algorithm>

namespace plimsoll::image {
namespace {

// Of Arai, Agui and Nakajima: products of cos(k pi / 16) sqrt(2), in 14 bits.
constexpr std::uint16_t kFastScale[64] = {16384, 22725, 21407, 19266, 16384, 12873, 8867,  4520,  //
                                          22725, 31521, 29692, 26722, 22725, 17855, 12299, 6270,  //
                                          21407, 29692, 27969, 25172, 21407, 16819, 11585, 5906,  //
                                          19266, 26722, 25172, 22654, 19266, 15137, 10426, 5315,  //
                                          16384, 22725, 21407, 19266, 16384, 12873, 8867,  4520,  //
                                          12873, 17855, 16819, 15137, 12873, 10114, 6967,  3552,  //
                                          8867,  12299, 11585, 10426, 8867,  6967,  4799,  2446,  //
                                          4520,  6270,  5906,  5315,  4520,  3552,  2446,  1247};

}  // namespace

const JpegTransforms* jpeg_transforms() {
  const JpegTransforms* const wide = avx512_jpeg_transforms();
  return wide != nullptr ? wide : avx2_jpeg_transforms();
}

void make_factors(BlockGroup& factors, const std::uint16_t* quantization, bool fast8, int blocks) {
  for (int i = 0; i < 64; ++i) {
    std::int64_t factor = quantization[i];
    if (fast8) factor = (factor * kFastScale[i] + (1 << 11)) >> 12;
    std::int16_t* const at = factors.values + i / 8 * 8 * blocks + i % 8;
    for (int b = 0; b < blocks; ++b) at[8 * b] = static_cast<std::int16_t>(factor);
  }
}

std::uint8_t flat_sample(int dc, bool fast8) {
  const int value = fast8 ? dc >> 3 : (dc + 4) >> 3;
  return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128);
}

}  // namespace plimsoll::image
