#pragma once

#include <cstddef>
#include <cstdint>

#include <plimsoll/data/image/decode.h>

namespace plimsoll::image {

/// Blocks of one component that are transformed together at most.
inline constexpr int kMostBlocks = 4;

/// Blocks of coefficients side by side: row by row, eight of each of them.
struct alignas(64) BlockGroup {
  std::int16_t values[8 * 8 * kMostBlocks];
};

/// Dequantises and transforms a group of blocks of one component to squares of samples, which begin
/// where `out` says for each, and sets `blocks` to zero.
using InverseDct = void (*)(std::uint8_t* const* out, std::ptrdiff_t stride, BlockGroup& blocks,
                            const BlockGroup& factors);

/// The transforms of libjpeg-turbo with its bits, down to what its vector code does where 16 bits
/// overflow.
struct JpegTransforms {
  int blocks;            ///< in a group
  InverseDct fast8;      ///< JDCT_IFAST
  InverseDct accurate8;  ///< JDCT_ISLOW
  InverseDct reduced4;   ///< of scaled decoding, whatever the dct
  InverseDct reduced2;
};

/// Null where this processor, or this build's architecture, has no AVX2. libjpeg itself is the
/// plain variant then.
const JpegTransforms* avx2_jpeg_transforms();
/// The same for AVX-512.
const JpegTransforms* avx512_jpeg_transforms();
/// The fastest that this processor runs; null if none.
const JpegTransforms* jpeg_transforms();

/// What to multiply coefficients with, for so many blocks. `quantization` is in natural order.
void make_factors(BlockGroup& factors, const std::uint16_t* quantization, bool fast8, int blocks);

/// The one sample of a block that has one, and every sample of a block without AC coefficients.
/// `dc` is dequantised.
std::uint8_t flat_sample(int dc, bool fast8);

}  // namespace plimsoll::image
