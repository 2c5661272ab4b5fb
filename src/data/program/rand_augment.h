#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <plimsoll/data/image/view.h>

// The changes that RandAugment draws from, as torchvision v2 has them.

namespace plimsoll::data {

/// A picture that is changed again and again.
struct Canvas {
  float* data = nullptr;
  float* other = nullptr;  ///< room for another picture of this size
  image::Extent extent;
  /// The values were u8, and are whole after each change.
  bool whole = false;
  double most = 255;
};

enum class AugmentKind : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
};
inline constexpr int kAugmentKinds = 14;

std::string_view augment_name(AugmentKind kind);

/// What `level` of 0 to bins - 1 is for a picture of that size: a share, pixels, degrees or bits.
double augment_magnitude(AugmentKind kind, int level, int bins, const image::Extent& extent);
/// Whether the magnitude may be negative.
bool is_signed(AugmentKind kind);

/// Changes the picture; moved-in pixels are 0.
void augment(const Canvas& canvas, AugmentKind kind, double magnitude);

/// Between a smoothed picture (0) and the picture (1), and beyond.
void change_sharpness(const Canvas& canvas, double factor);

}  // namespace plimsoll::data
