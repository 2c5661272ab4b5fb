#include "data/program/turning.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace plimsoll::data {
namespace {

/// From a pixel of the result to where it comes from, both counted from the centre.
std::array<double, 6> inverse(const Turning& how, const image::Extent& extent) {
  constexpr double kDegree = std::numbers::pi / 180;
  const double rot = how.angle * kDegree;
  const double sx = how.shear_x * kDegree;
  const double sy = how.shear_y * kDegree;
  const double a = std::cos(rot - sy) / std::cos(sy);
  const double b = -std::cos(rot - sy) * std::tan(sx) / std::cos(sy) - std::sin(rot);
  const double c = std::sin(rot - sy) / std::cos(sy);
  const double d = -std::sin(rot - sy) * std::tan(sx) / std::cos(sy) + std::cos(rot);
  const std::array<double, 4> m = {d / how.scale, -b / how.scale, -c / how.scale, a / how.scale};
  const double fixed_x = how.about_centre ? 0 : -extent.width / 2.0;
  const double fixed_y = how.about_centre ? 0 : -extent.height / 2.0;
  const double x = how.x + fixed_x;
  const double y = how.y + fixed_y;
  return {m[0], m[1], fixed_x - m[0] * x - m[1] * y, m[2], m[3], fixed_y - m[2] * x - m[3] * y};
}

/// Where a pixel of the result comes from, in torchvision's arithmetic: floats of -1 to 1 across
/// the picture, so that pixels half-way between two are taken from the same one.
class Origin {
 public:
  Origin(const double* row, int size, int width, int height)
      : half_(static_cast<float>(size) / 2),
        middle_x_(static_cast<float>(width - 1) / 2),
        middle_y_(static_cast<float>(height - 1) / 2) {
    for (std::size_t i = 0; i < 3; ++i) row_[i] = static_cast<float>(row[i]) / half_;
  }
  float of(int x, int y) const {
    const float by_x = (static_cast<float>(x) - middle_x_) * row_[0];
    const float by_y = (static_cast<float>(y) - middle_y_) * row_[1];
    return (by_x + by_y + row_[2] + 1) * half_ - 0.5F;
  }

 private:
  float half_;
  float middle_x_;
  float middle_y_;
  std::array<float, 3> row_{};
};

struct Sampler {
  const float* pixels;
  image::Extent extent;

  bool inside(std::int64_t y, std::int64_t x) const {
    return y >= 0 && x >= 0 && y < extent.height && x < extent.width;
  }
  const float* pixel(std::int64_t y, std::int64_t x) const {
    return pixels + (y * extent.width + x) * extent.channels;
  }
};

/// The four pixels about a place by their weights. What is outside counts as black first, and the
/// sum is then mixed with the fill by the weight of what is inside, as torchvision does.
void blend(float* out, const Sampler& from, float at_y, float at_x, float fill) {
  const auto left = static_cast<std::int64_t>(std::floor(at_x));
  const auto top = static_cast<std::int64_t>(std::floor(at_y));
  const float dx = at_x - static_cast<float>(left);
  const float dy = at_y - static_cast<float>(top);
  const int channels = from.extent.channels;
  std::fill_n(out, channels, 0.0F);
  float inside = 0;
  for (int k = 0; k < 4; ++k) {
    const std::int64_t y = top + k / 2;
    const std::int64_t x = left + k % 2;
    if (!from.inside(y, x)) continue;
    const float weight = (k / 2 == 1 ? dy : 1 - dy) * (k % 2 == 1 ? dx : 1 - dx);
    const float* const pixel = from.pixel(y, x);
    inside += weight;
    for (int c = 0; c < channels; ++c) out[c] += weight * pixel[c];
  }
  for (int c = 0; c < channels; ++c) out[c] = (out[c] - fill) * inside + fill;
}

}  // namespace

void turn(float* out, const float* in, const image::Extent& e, const Turning& how) {
  const std::array<double, 6> m = inverse(how, e);
  const Sampler from{in, e};
  const Origin origin_x(m.data(), e.width, e.width, e.height);
  const Origin origin_y(m.data() + 3, e.height, e.width, e.height);
  for (int y = 0; y < e.height; ++y) {
    for (int x = 0; x < e.width; ++x, out += e.channels) {
      const float at_x = origin_x.of(x, y);
      const float at_y = origin_y.of(x, y);
      if (how.bilinear) {
        blend(out, from, at_y, at_x, how.fill);
        continue;
      }
      const auto near_y = static_cast<std::int64_t>(std::nearbyint(at_y));
      const auto near_x = static_cast<std::int64_t>(std::nearbyint(at_x));
      if (from.inside(near_y, near_x)) {
        std::copy_n(from.pixel(near_y, near_x), e.channels, out);
      } else {
        std::fill_n(out, e.channels, how.fill);
      }
    }
  }
}

}  // namespace plimsoll::data
