#include "data/program/rand_augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data/program/colours.h"
#include "data/program/turning.h"

namespace plimsoll::data {
namespace {

constexpr std::array<std::string_view, kAugmentKinds> kNames = {
    "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
    "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};

ColourPicture colours_of(const Canvas& canvas) {
  return {canvas.data, std::int64_t{canvas.extent.height} * canvas.extent.width,
          canvas.extent.channels, canvas.whole};
}

std::int64_t floats_of(const Canvas& canvas) {
  const image::Extent& e = canvas.extent;
  return std::int64_t{e.height} * e.width * e.channels;
}

void turn_canvas(const Canvas& canvas, const Turning& how) {
  std::copy_n(canvas.data, floats_of(canvas), canvas.other);
  turn(canvas.data, canvas.other, canvas.extent, how);
}

}  // namespace

std::string_view augment_name(AugmentKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

double augment_magnitude(AugmentKind kind, int level, int bins, const image::Extent& extent) {
  const double share = bins > 1 ? static_cast<double>(level) / (bins - 1) : 0;
  switch (kind) {
    case AugmentKind::shear_x:
    case AugmentKind::shear_y:
      return 0.3 * share;
    case AugmentKind::translate_x:
      return 150.0 / 331.0 * extent.width * share;
    case AugmentKind::translate_y:
      return 150.0 / 331.0 * extent.height * share;
    case AugmentKind::rotate:
      return 30 * share;
    case AugmentKind::brightness:
    case AugmentKind::color:
    case AugmentKind::contrast:
    case AugmentKind::sharpness:
      return 0.9 * share;
    case AugmentKind::posterize:
      return std::nearbyint(8 - 4 * share);
    case AugmentKind::solarize:
      return 1 - share;
    case AugmentKind::identity:
    case AugmentKind::autocontrast:
    case AugmentKind::equalize:
      return 0;
  }
  return 0;
}

bool is_signed(AugmentKind kind) {
  return kind >= AugmentKind::shear_x && kind <= AugmentKind::sharpness;
}

void change_sharpness(const Canvas& canvas, double factor) {
  const image::Extent& e = canvas.extent;
  if (e.height <= 2 || e.width <= 2) return;
  std::copy_n(canvas.data, floats_of(canvas), canvas.other);
  const std::int64_t row = std::int64_t{e.width} * e.channels;
  const auto top = static_cast<float>(canvas.most);
  const auto share = static_cast<float>(1 - factor);
  for (int y = 1; y + 1 < e.height; ++y) {
    for (std::int64_t i = e.channels; i < row - e.channels; ++i) {
      const float* const at = canvas.other + y * row + i;
      float around = 0;
      for (const std::int64_t line : {-row, std::int64_t{0}, row}) {
        around += at[line - e.channels] + at[line] + at[line + e.channels];
      }
      float smooth = (around + 4 * *at) * (1.0F / 13);
      if (canvas.whole) smooth = std::nearbyint(smooth);
      canvas.data[y * row + i] = *at + (smooth - *at) * share;
    }
  }
  for (std::int64_t i = 0; i < floats_of(canvas); ++i) {
    canvas.data[i] = std::clamp(canvas.data[i], 0.0F, top);
  }
}

void augment(const Canvas& canvas, AugmentKind kind, double magnitude) {
  const ColourPicture colours = colours_of(canvas);
  const double most = canvas.most;
  const double slant = std::atan(magnitude) * 180 / std::numbers::pi;
  bool rounded = false;
  switch (kind) {
    case AugmentKind::identity:
      return;
    case AugmentKind::shear_x:
      turn_canvas(canvas, {.shear_x = slant, .about_centre = false});
      rounded = true;
      break;
    case AugmentKind::shear_y:
      turn_canvas(canvas, {.shear_y = slant, .about_centre = false});
      rounded = true;
      break;
    case AugmentKind::translate_x:
      turn_canvas(canvas, {.x = std::trunc(magnitude)});
      rounded = true;
      break;
    case AugmentKind::translate_y:
      turn_canvas(canvas, {.y = std::trunc(magnitude)});
      rounded = true;
      break;
    case AugmentKind::rotate:
      turn_canvas(canvas, {.angle = -magnitude});
      rounded = true;
      break;
    case AugmentKind::brightness:
      change_brightness(colours, 1 + magnitude, most);
      break;
    case AugmentKind::color:
      change_saturation(colours, 1 + magnitude, most);
      break;
    case AugmentKind::contrast:
      change_contrast(colours, 1 + magnitude, most);
      break;
    case AugmentKind::sharpness:
      change_sharpness(canvas, 1 + magnitude);
      break;
    case AugmentKind::posterize:
      change_posterize(colours, magnitude, most);
      break;
    case AugmentKind::solarize:
      change_solarize(colours, most * magnitude, most);
      break;
    case AugmentKind::autocontrast:
      change_autocontrast(colours, 0, most);
      break;
    case AugmentKind::equalize:
      change_equalize(colours, 0, most);
      break;
  }
  if (canvas.whole) cut_to_whole(colours, most, rounded);
}

}  // namespace plimsoll::data
