#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <plimsoll/base/layout.h>
#include <plimsoll/data/image/decode.h>
#include <plimsoll/data/image/resize.h>

namespace plimsoll::image {

/// What load() makes of a file: decode, turn, crop, resize, flip, scale to 0..1, normalise, in one
/// pass over rows.
struct LoadOptions {
  /// Pixels of the result.
  int height = 224;
  int width = 224;
  /// 1 gray, 3 RGB, 4 RGBA.
  int channels = 3;
  Layout layout = Layout::channels_last;
  Dct dct = Dct::fast;
  ResizeOptions resize{};
  /// Bilinear resizes without antialias interpolate in f32: to the bit what decode(), a cast to f32
  /// and resize() give. Else they do with weights of 14 bits, which is faster and within 0.01/255.
  bool exact = false;
  /// The part of the (turned) picture to use.
  Window crop{};
  /// Mirror the result left to right.
  bool flip = false;
  bool apply_orientation = false;
  /// Let JPEGs be decoded at 1/2, 1/4 or 1/8 where that still has the pixels the result needs and
  /// is faster. Smooths where full decoding skips pixels, so the result differs visibly.
  bool allow_scaled = false;
  /// Result = (value / 255 - mean) / deviation, per channel.
  std::array<float, 4> mean{0, 0, 0, 0};
  std::array<float, 4> deviation{1, 1, 1, 1};
  /// False: values stay on the scale 0 to 255, and mean and deviation are left out.
  bool normalise = true;
};

/// What load() will do with a picture; for statistics and tests.
struct LoadPlan {
  enum class Path : std::uint8_t {
    planes,  ///< JPEG planes, converted only in the rows that the result needs
    rows,    ///< rows as the decoder gives them
    whole,   ///< the whole picture, then resize()
  };
  Path path = Path::rows;
  /// A JPEG is decoded at eighths/8 of its size: 1, 2, 4 or 8.
  int eighths = 8;
  /// Most bytes that load() takes from its Scratch.
  Bytes scratch = 0;
};

/// Throws InvalidArgument if the options make no sense or the crop is not inside the picture.
LoadPlan plan_load(const ImageInfo& info, const LoadOptions& options);

/// Decodes into height * width * channels floats at `out`. Rows stream through: without antialias
/// a bilinear load of a picture that comes in one pass never holds all of it.
///
/// Without `allow_scaled` every value is what TensorFlow's decode, crop, resize, / 255 give, to
/// within 0.01/255 before normalisation.
///
/// `info` comes from probe() of the same bytes. Takes at most plan_load().scratch from `scratch`.
/// Throws as plan_load() and decode() do; `out` is undefined after an error. Thread-safe.
void load(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
          Scratch& scratch, float* out);

/// Takes the rows of a result as they are made, a few at a time.
struct RowStrip {
  float* rows = nullptr;  ///< room for `count` rows of the result, channels last
  int count = 0;
  /// Rows [first, first + made) of the result are in `rows` until it returns. They come in order;
  /// where a file turns out not to be regular, from the first row again.
  std::function<void(int first, int made)> take;
};

/// The same with results that nobody holds as a whole. Throws InvalidArgument for options that ask
/// for planes, or for a picture to be turned.
void load(std::span<const std::byte> data, const ImageInfo& info, const LoadOptions& options,
          Scratch& scratch, const RowStrip& strip);

}  // namespace plimsoll::image
