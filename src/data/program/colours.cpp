#include "data/program/colours.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::data {
namespace {

float gray_of(const float* pixel) {
  return pixel[0] * 0.2989F + pixel[1] * 0.587F + pixel[2] * 0.114F;
}

float blended(float value, float other, double ratio, double most) {
  const auto r = static_cast<float>(ratio);
  return std::clamp(value * r + other * (1 - r), 0.0F, static_cast<float>(most));
}

struct Hsv {
  float h, s, v;
};

/// As torchvision's _rgb_to_hsv, of values in 0 to 1.
Hsv to_hsv(float r, float g, float b) {
  const float largest = std::max({r, g, b});
  const float smallest = std::min({r, g, b});
  const float range = largest - smallest;
  const bool flat = largest == smallest;
  const float s = flat ? 0.0F : range / largest;
  const float divisor = flat ? 1.0F : range;
  const float rc = (largest - r) / divisor;
  const float gc = (largest - g) / divisor;
  const float bc = (largest - b) / divisor;
  float h = 0;
  if (largest == r) {
    h = bc - gc;
  } else if (largest == g) {
    h = rc + 2 - bc;
  } else {
    h = gc + 4 - rc;
  }
  h = h / 6 + 1;
  return {h - std::floor(h), s, largest};
}

void to_rgb(const Hsv& hsv, float* pixel) {
  const float sixths = hsv.h * 6;
  const float whole = std::floor(sixths);
  const float f = sixths - whole;
  const auto unit = [](float x) { return std::clamp(x, 0.0F, 1.0F); };
  const float v = hsv.v;
  const float p = unit(v * (1 - hsv.s));
  const float q = unit(v * (1 - hsv.s * f));
  const float t = unit(v * (1 - hsv.s * (1 - f)));
  const float rgb[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  const int i = static_cast<int>(whole) % 6;
  std::copy_n(rgb[i < 0 ? i + 6 : i], 3, pixel);
}

std::int64_t count_of(const ColourPicture& picture) { return picture.pixels * picture.channels; }

}  // namespace

void change_brightness(const ColourPicture& picture, double factor, double most) {
  const auto by = static_cast<float>(factor);
  const auto top = static_cast<float>(most);
  for (std::int64_t i = 0; i < count_of(picture); ++i) {
    picture.data[i] = std::clamp(picture.data[i] * by, 0.0F, top);
  }
}

void change_contrast(const ColourPicture& picture, double factor, double most) {
  double total = 0;
  for (std::int64_t i = 0; i < picture.pixels; ++i) {
    const float* const pixel = picture.data + i * picture.channels;
    const float gray = picture.channels == 3 ? gray_of(pixel) : pixel[0];
    total += picture.whole && picture.channels == 3 ? std::floor(gray) : gray;
  }
  const auto mean =
      static_cast<float>(total / static_cast<double>(std::max<std::int64_t>(1, picture.pixels)));
  for (std::int64_t i = 0; i < count_of(picture); ++i) {
    picture.data[i] = blended(picture.data[i], mean, factor, most);
  }
}

void change_saturation(const ColourPicture& picture, double factor, double most) {
  for (std::int64_t i = 0; i < picture.pixels; ++i) {
    float* const pixel = picture.data + 3 * i;
    const float gray = picture.whole ? std::floor(gray_of(pixel)) : gray_of(pixel);
    for (int c = 0; c < 3; ++c) pixel[c] = blended(pixel[c], gray, factor, most);
  }
}

void change_hue(const ColourPicture& picture, double amount, double most) {
  const auto top = static_cast<float>(most);
  for (std::int64_t i = 0; i < picture.pixels; ++i) {
    float* const pixel = picture.data + 3 * i;
    Hsv hsv = to_hsv(pixel[0] / top, pixel[1] / top, pixel[2] / top);
    hsv.h += static_cast<float>(amount);
    hsv.h -= std::floor(hsv.h);
    to_rgb(hsv, pixel);
    // Whole values are as many as fit equal parts of 0 to 1.
    const float scale = picture.whole ? top + 1 - 1e-3F : top;
    for (int c = 0; c < 3; ++c) pixel[c] *= scale;
  }
}

void change_solarize(const ColourPicture& picture, double threshold, double most) {
  const auto top = static_cast<float>(most);
  const auto from = static_cast<float>(threshold);
  for (std::int64_t i = 0; i < count_of(picture); ++i) {
    if (picture.data[i] >= from) picture.data[i] = top - picture.data[i];
  }
}

void change_posterize(const ColourPicture& picture, double bits, double most) {
  const auto top = static_cast<float>(most);
  const auto levels = static_cast<float>(1 << static_cast<int>(bits));
  const float step = picture.whole ? 256 / levels : 0;
  for (std::int64_t i = 0; i < count_of(picture); ++i) {
    float& value = picture.data[i];
    if (picture.whole) {
      value = std::floor(value / step) * step;
    } else {
      value = std::clamp(std::floor(value / top * levels), 0.0F, levels - 1) * (1 / levels) * top;
    }
  }
}

void make_gray(const ColourPicture& picture) {
  for (std::int64_t i = 0; i < picture.pixels; ++i) {
    float* const pixel = picture.data + 3 * i;
    const float gray = gray_of(pixel);
    std::fill_n(pixel, 3, gray);
  }
}

FloatPicture::FloatPicture(const ProgramInput& from, image::Scratch& scratch, Tensor& to)
    : scratch_(scratch) {
  const std::int64_t count = from.elements();
  if (from.dtype() == DType::f32) {
    data_ = to.mutable_data<float>();
    std::copy_n(from.as<float>(), count, data_);
    return;
  }
  block_ = scratch_.allocate(static_cast<Bytes>(count) * sizeof(float) + alignof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(block_);
  data_ = reinterpret_cast<float*>(align_up(address, alignof(float)));
  const auto* const bytes = from.as<std::uint8_t>();
  for (std::int64_t i = 0; i < count; ++i) data_[i] = static_cast<float>(bytes[i]);
}

FloatPicture::~FloatPicture() {
  if (block_ != nullptr) scratch_.free(block_);
}

void FloatPicture::write(Tensor& to, bool rounded) const {
  if (block_ == nullptr) return;
  auto* const out = to.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const float value = rounded ? std::nearbyint(data_[i]) : data_[i];
    out[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
  }
}

}  // namespace plimsoll::data
