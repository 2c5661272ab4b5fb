#pragma once

#include <cstddef>
#include <cstdint>

#include <plimsoll/data/image/decode.h>

namespace plimsoll::image {

/// Two blocks of coefficients side by side: row by row, eight of the first, eight of the second.
struct alignas(32) BlockPair {
  std::int16_t values[8 * 16];
};

/// Dequantises and transforms two blocks of one component to squares of samples, and sets `blocks`
/// to zero.
using InverseDct = void (*)(std::uint8_t* first, std::uint8_t* second, std::ptrdiff_t stride,
                            BlockPair& blocks, const BlockPair& factors);

/// The transforms of libjpeg-turbo with its bits, down to what its vector code does where 16 bits
/// overflow.
struct JpegTransforms {
  InverseDct fast8;      ///< JDCT_IFAST
  InverseDct accurate8;  ///< JDCT_ISLOW
  InverseDct reduced4;   ///< of scaled decoding, whatever the dct
  InverseDct reduced2;
};

/// Null where this processor, or this build's architecture, has no AVX2. libjpeg itself is the
/// plain variant then.
const JpegTransforms* avx2_jpeg_transforms();

/// What to multiply coefficients with, for both blocks. `quantization` is in natural order.
void make_factors(BlockPair& factors, const std::uint16_t* quantization, bool fast8);

/// The one sample of a block that has one, and every sample of a block without AC coefficients.
/// `dc` is dequantised.
std::uint8_t flat_sample(int dc, bool fast8);

}  // namespace plimsoll::image
