#pragma once

#include <cstdint>

#include <plimsoll/base/bytes.h>
#include <plimsoll/data/image/scratch.h>
#include <plimsoll/data/image/view.h>

namespace plimsoll::image {

enum class Filter : std::uint8_t { nearest, bilinear, bicubic, area };

struct ResizeOptions {
  Filter filter = Filter::bilinear;
  /// Widen the kernel when shrinking; no effect on `nearest` and `area`.
  bool antialias = false;
};

/// Resizes `in` to the size of `out`, with tf.image.resize's results: half-pixel centres, edges as
/// there, values not clamped, bicubic with Keys' kernel (a = -0.5). Both have the same channels
/// and do not overlap.
///
/// Takes resize_scratch() bytes from `scratch`. Throws InvalidArgument for empty pictures or
/// differing channels, OutOfMemory from `scratch`. Thread-safe.
void resize(View<float> out, View<const std::uint8_t> in, const ResizeOptions& options,
            Scratch& scratch);
void resize(View<float> out, View<const float> in, const ResizeOptions& options, Scratch& scratch);

/// The same by the arithmetic of load(), whose bits it has: bilinear without antialias, 1 to 4
/// channels. Within 0.01 of resize(), and faster.
void resize_like_load(View<float> out, View<const std::uint8_t> in, Scratch& scratch);

/// Most bytes that resize_like_load() takes from its Scratch.
Bytes resize_like_load_scratch(Extent out, Extent in);

/// Most bytes that resize() takes from its Scratch.
Bytes resize_scratch(Extent out, Extent in, const ResizeOptions& options);

}  // namespace plimsoll::image
