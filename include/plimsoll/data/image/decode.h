#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/data/image/info.h>
#include <plimsoll/data/image/scratch.h>
#include <plimsoll/data/image/view.h>

namespace plimsoll::image {

/// The inverse DCT of a JPEG decoder: `fast` is TensorFlow's default ('INTEGER_FAST'), `accurate`
/// its 'INTEGER_ACCURATE'.
enum class Dct : std::uint8_t { fast, accurate };

struct DecodeOptions {
  /// 0: as stored; 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA (what has no alpha becomes opaque).
  int channels = 3;
  Dct dct = Dct::fast;
  /// Turn the picture upright as its EXIF orientation says; TensorFlow does not.
  bool apply_orientation = false;
};

/// The shape decode() gives. Throws InvalidArgument if `channels` is not 0 to 4.
Extent decoded_extent(const ImageInfo& info, const DecodeOptions& options);

/// Decodes a whole picture into `out`, whose shape is decoded_extent().
///
/// The result has the bits of tf.io.decode_jpeg (fancy upscaling) or tf.io.decode_png, given the
/// same libjpeg-turbo. As there, a file that is cut off is an error, and damage that the decoder
/// can paint over is not.
///
/// `info` comes from probe() of the same bytes. Takes at most info.scratch from `scratch`. Throws
/// DataError for broken data (`out` is then undefined), OutOfMemory from `scratch`,
/// InvalidArgument if `out` has another shape. Thread-safe.
void decode(std::span<const std::byte> data, const ImageInfo& info, const DecodeOptions& options,
            Scratch& scratch, View<std::uint8_t> out);

}  // namespace plimsoll::image
