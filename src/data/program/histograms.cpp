// Changes that look at all values of a channel first.
#include <algorithm>
#include <array>
#include <cmath>

#include "data/program/colours.h"

namespace plimsoll::data {

void change_autocontrast(const ColourPicture& picture, double, double most) {
  const auto top = static_cast<float>(most);
  const int step = picture.channels;
  for (int c = 0; c < step && picture.pixels > 0; ++c) {
    float smallest = picture.data[c];
    float largest = smallest;
    for (std::int64_t i = 0; i < picture.pixels; ++i) {
      smallest = std::min(smallest, picture.data[i * step + c]);
      largest = std::max(largest, picture.data[i * step + c]);
    }
    if (largest == smallest) continue;
    const float range = (largest - smallest) * (1 / top);
    for (std::int64_t i = 0; i < picture.pixels; ++i) {
      float& value = picture.data[i * step + c];
      value = std::clamp((value - smallest) / range, 0.0F, top);
    }
  }
}

void change_equalize(const ColourPicture& picture, double, double most) {
  const auto top = static_cast<float>(most);
  const int step = picture.channels;
  // As torchvision turns floats into bytes: equal parts of 0 to 1.
  const auto bin = [&](float value) {
    const float scaled = picture.whole ? value : value / top * (256.0F - 1e-3F);
    return static_cast<std::size_t>(std::clamp(scaled, 0.0F, 255.0F));
  };
  for (int c = 0; c < step && picture.pixels > 0; ++c) {
    std::array<std::int64_t, 256> counts{};
    for (std::int64_t i = 0; i < picture.pixels; ++i) ++counts[bin(picture.data[i * step + c])];
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
    const std::int64_t part = (picture.pixels - *last) / 255;
    std::array<float, 256> table{};
    std::int64_t below = 0;
    for (std::size_t v = 0; v < table.size(); ++v) {
      const std::int64_t level = part == 0
                                     ? static_cast<std::int64_t>(v)
                                     : std::clamp<std::int64_t>((below + part / 2) / part, 0, 255);
      table[v] = picture.whole ? static_cast<float>(level) : static_cast<float>(level) / 255 * top;
      below += counts[v];
    }
    for (std::int64_t i = 0; i < picture.pixels; ++i) {
      float& value = picture.data[i * step + c];
      value = table[bin(value)];
    }
  }
}

}  // namespace plimsoll::data
