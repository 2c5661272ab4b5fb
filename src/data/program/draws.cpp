#include "data/program/draws.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

namespace plimsoll::data {
namespace {

void require_room(int picture_height, int picture_width, int height, int width,
                  std::string_view op) {
  if (height <= picture_height && width <= picture_width) return;
  throw DataError(fmt::format(
      "[{}] the image has {} x {} pixels, and {} x {} are to be cut out; resize it first", op,
      picture_height, picture_width, height, width));
}

}  // namespace

bool drawn_flip(const Philox::Counter& words, double probability) {
  // 2^-32 of a turn is below any probability that is not 0.
  return static_cast<double>(words[0]) < probability * 4294967296.0;
}

image::Window drawn_window(const Philox::Counter& words, int picture_height, int picture_width,
                           int height, int width, std::string_view op) {
  require_room(picture_height, picture_width, height, width, op);
  const auto offset = [](std::uint32_t word, int room) {
    return static_cast<int>(Philox::below(word, static_cast<std::uint32_t>(room) + 1));
  };
  return {.x = offset(words[1], picture_width - width),
          .y = offset(words[0], picture_height - height),
          .width = width,
          .height = height};
}

image::Window middle_window(int picture_height, int picture_width, int height, int width,
                            std::string_view op) {
  require_room(picture_height, picture_width, height, width, op);
  return {.x = (picture_width - width) / 2,
          .y = (picture_height - height) / 2,
          .width = width,
          .height = height};
}

image::Window inner_window(int picture_height, int picture_width, const image::Window& window,
                           std::string_view op) {
  if (window.x >= 0 && window.y >= 0 && window.x <= picture_width - window.width &&
      window.y <= picture_height - window.height) {
    return window;
  }
  throw DataError(fmt::format(
      "[{}] a part of {} x {} pixels at y={}, x={} is not inside an image "
      "of {} x {}; use a smaller one, or resize first",
      op, window.height, window.width, window.y, window.x, picture_height, picture_width));
}

image::Window drawn_resized_window(const std::function<Philox::Counter(std::uint32_t)>& words,
                                   int picture_height, int picture_width, const CropRange& range) {
  const auto between = [](double low, double high, std::uint32_t word) {
    return low + (high - low) * static_cast<double>(word) / 4294967296.0;
  };
  const double area = static_cast<double>(picture_height) * picture_width;
  constexpr std::uint32_t kAttempts = 10;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Philox::Counter drawn = words(attempt);
    const double wanted = area * between(range.scale_low, range.scale_high, drawn[0]);
    const double ratio =
        std::exp(between(std::log(range.ratio_low), std::log(range.ratio_high), drawn[1]));
    const double width = std::nearbyint(std::sqrt(wanted * ratio));
    const double height = std::nearbyint(std::sqrt(wanted / ratio));
    if (!(width >= 1 && height >= 1 && width <= picture_width && height <= picture_height))
      continue;
    return drawn_window({drawn[2], drawn[3], 0, 0}, picture_height, picture_width,
                        static_cast<int>(height), static_cast<int>(width), "random_resized_crop");
  }
  // The largest part in the middle whose ratio is in the range.
  const double ratio = static_cast<double>(picture_width) / picture_height;
  int height = picture_height;
  int width = picture_width;
  if (ratio < range.ratio_low) {
    height = std::clamp(static_cast<int>(std::nearbyint(width / range.ratio_low)), 1, height);
  } else if (ratio > range.ratio_high) {
    width = std::clamp(static_cast<int>(std::nearbyint(height * range.ratio_high)), 1, width);
  }
  return middle_window(picture_height, picture_width, height, width, "random_resized_crop");
}

}  // namespace plimsoll::data
