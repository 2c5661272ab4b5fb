#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/error.h>

namespace plimsoll::image {

enum class Format : std::uint8_t { jpeg, png };

/// What a picture's header says. Sizes are in pixels, as stored: before any orientation.
struct ImageInfo {
  Format format = Format::jpeg;
  int width = 0;
  int height = 0;
  /// What decoding with `channels = 0` gives: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. A CMYK JPEG
  /// counts as 3.
  int channels = 0;
  /// Per stored sample: 8 for JPEG; 1, 2, 4, 8 or 16 for PNG.
  int bits = 8;
  /// A progressive JPEG or an interlaced PNG.
  bool progressive = false;
  /// The picture comes in several passes, so its decoder holds all of it: every progressive
  /// picture, and JPEGs with a scan per component.
  bool several_passes = false;
  /// EXIF orientation, 1 (upright) to 8; 1 where none is stated or it is malformed.
  int orientation = 1;

  /// JPEG: how many components are stored (4 for CMYK) and their sampling factors. PNG: 0.
  int components = 0;
  struct Sampling {
    std::uint8_t horizontal = 1;
    std::uint8_t vertical = 1;
  };
  std::array<Sampling, 4> sampling{};
  /// PNG: the colour type as stored (0, 2, 3, 4, 6), and whether it has a transparency chunk.
  int png_colour = 0;
  bool png_transparency = false;

  /// Most bytes that decode() to any number of channels takes from its Scratch, upright or turned.
  Bytes scratch = 0;
};

struct ProbeOptions {
  /// Pictures with more pixels than this are refused: a few bytes can claim any size.
  std::int64_t max_pixels = std::int64_t{1} << 27;
};

/// The bytes end within the header: more of the file may help.
class HeaderCutOff final : public DataError {
 public:
  using DataError::DataError;
};

/// Reads the header of a JPEG or PNG file without decoding and without taking memory.
///
/// Throws DataError if `data` is neither, its header is broken or cut off (HeaderCutOff), its kind
/// is not supported (lossless, 12-bit), or it has more pixels than allowed. Messages name no file:
/// the caller knows it. Thread-safe.
ImageInfo probe(std::span<const std::byte> data, const ProbeOptions& options = {});

}  // namespace plimsoll::image
