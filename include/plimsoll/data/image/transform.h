#pragma once

#include <cstdint>
#include <span>

#include <plimsoll/data/image/view.h>

namespace plimsoll::image {

// Pictures are float unless said otherwise; any range of values will do. `out` has the shape the
// operation gives, and may be the same memory as `in` only where said so. All throw InvalidArgument
// where shapes do not fit, allocate nothing, and are thread-safe.

/// The part of a picture in `window`; nothing is copied.
View<const float> crop(View<const float> in, const Window& window);
View<const std::uint8_t> crop(View<const std::uint8_t> in, const Window& window);

void copy(View<float> out, View<const float> in);
void flip_left_right(View<float> out, View<const float> in);
void flip_up_down(View<float> out, View<const float> in);

/// Turns counter-clockwise by 90 degrees `turns` times (any sign), as tf.image.rot90.
void rotate90(View<float> out, View<const float> in, int turns);

/// What a rotated picture shows where it has no pixels.
enum class Outside : std::uint8_t { constant, nearest };

/// Turns counter-clockwise by `radians` about the centre, bilinear, keeping the size: what Keras'
/// RandomRotation does with that angle.
void rotate(View<float> out, View<const float> in, float radians, Outside outside,
            float value = 0.0F);

/// value + delta. In place if out is in.
void adjust_brightness(View<float> out, View<const float> in, float delta);

/// (value - mean) * factor + mean, with each channel's mean over the picture, as
/// tf.image.adjust_contrast. In place if out is in.
void adjust_contrast(View<float> out, View<const float> in, float factor);

/// (value - mean[c]) / deviation[c]; one of each per channel. In place if out is in.
void normalise(View<float> out, View<const float> in, std::span<const float> mean,
               std::span<const float> deviation);

/// 0..255 to 0..1, and back as tf.image.convert_image_dtype does: scaled by 255.5, cut off,
/// saturated. What is not a number becomes 0.
void to_float(View<float> out, View<const std::uint8_t> in);
void to_bytes(View<std::uint8_t> out, View<const float> in);

/// Between interleaved channels (HWC) and planes (CHW); `planes` has
/// channels * height * width floats and does not overlap the picture.
void to_planes(float* planes, View<const float> in);
void from_planes(View<float> out, const float* planes);

}  // namespace plimsoll::image
