#include <plimsoll/data/image/transform.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::image {
namespace {

std::string shape(int height, int width, int channels) {
  return std::to_string(height) + " x " + std::to_string(width) + " x " + std::to_string(channels);
}

template <class T, class U>
void expect_same(const char* who, const View<T>& out, const View<U>& in) {
  if (out.height == in.height && out.width == in.width && out.channels == in.channels) return;
  throw InvalidArgument(std::string("[") + who + "] the result has shape " +
                        shape(out.height, out.width, out.channels) + ", the image " +
                        shape(in.height, in.width, in.channels));
}

template <class T>
View<const T> crop_any(View<const T> in, const Window& window) {
  if (window.whole()) return in;
  if (window.x < 0 || window.y < 0 || window.width < 1 || window.height < 1 ||
      window.x > in.width - window.width || window.y > in.height - window.height) {
    throw InvalidArgument("[crop] a window of " + std::to_string(window.width) + " x " +
                          std::to_string(window.height) + " at " + std::to_string(window.x) + ", " +
                          std::to_string(window.y) + " is not inside " +
                          shape(in.height, in.width, in.channels));
  }
  return {in.pixel(window.y, window.x), window.height, window.width, in.channels, in.stride};
}

/// out pixel (y, x) = in pixel at source(y, x).
template <class Source>
void gather(View<float> out, View<const float> in, Source source) {
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      std::copy_n(source(in, y, x), in.channels, out.pixel(y, x));
    }
  }
}

/// out value = f(in value, channel).
template <class T, class U, class F>
void each(View<T> out, View<const U> in, F f) {
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      for (int c = 0; c < in.channels; ++c) out.pixel(y, x)[c] = f(in.pixel(y, x)[c], c);
    }
  }
}

}  // namespace

View<const float> crop(View<const float> in, const Window& window) { return crop_any(in, window); }
View<const std::uint8_t> crop(View<const std::uint8_t> in, const Window& window) {
  return crop_any(in, window);
}

void copy(View<float> out, View<const float> in) {
  expect_same("copy", out, in);
  gather(out, in, [](const auto& from, int y, int x) { return from.pixel(y, x); });
}

void flip_left_right(View<float> out, View<const float> in) {
  expect_same("flip_left_right", out, in);
  gather(out, in, [](const auto& from, int y, int x) { return from.pixel(y, from.width - 1 - x); });
}

void flip_up_down(View<float> out, View<const float> in) {
  expect_same("flip_up_down", out, in);
  gather(out, in,
         [](const auto& from, int y, int x) { return from.pixel(from.height - 1 - y, x); });
}

void rotate90(View<float> out, View<const float> in, int turns) {
  const int quarter = ((turns % 4) + 4) % 4;
  View<const float> turned = in;
  if (quarter % 2 == 1) std::swap(turned.height, turned.width);
  expect_same("rotate90", out, turned);
  gather(out, in, [quarter](const auto& from, int y, int x) {
    switch (quarter) {
      case 1:
        return from.pixel(x, from.width - 1 - y);
      case 2:
        return from.pixel(from.height - 1 - y, from.width - 1 - x);
      case 3:
        return from.pixel(from.height - 1 - x, y);
      default:
        return from.pixel(y, x);
    }
  });
}

void rotate(View<float> out, View<const float> in, float radians, Outside outside, float value) {
  expect_same("rotate", out, in);
  const float cosine = std::cos(radians);
  const float sine = std::sin(radians);
  const auto right = static_cast<float>(in.width - 1);
  const auto bottom = static_cast<float>(in.height - 1);
  const float x_offset = (right - (cosine * right - sine * bottom)) / 2;
  const float y_offset = (bottom - (sine * right + cosine * bottom)) / 2;
  const auto read = [&](float y, float x, int c) {
    if (outside == Outside::constant && (y < 0 || y > bottom || x < 0 || x > right)) return value;
    return in.pixel(static_cast<int>(std::clamp(y, 0.0F, bottom)),
                    static_cast<int>(std::clamp(x, 0.0F, right)))[c];
  };
  for (int i = 0; i < out.height; ++i) {
    for (int j = 0; j < out.width; ++j) {
      float x = cosine * static_cast<float>(j) - sine * static_cast<float>(i) + x_offset;
      float y = sine * static_cast<float>(j) + cosine * static_cast<float>(i) + y_offset;
      if (outside == Outside::nearest) {
        x = std::clamp(x, 0.0F, right);
        y = std::clamp(y, 0.0F, bottom);
      }
      const float x0 = std::floor(x);
      const float y0 = std::floor(y);
      for (int c = 0; c < in.channels; ++c) {
        const float upper = (x0 + 1 - x) * read(y0, x0, c) + (x - x0) * read(y0, x0 + 1, c);
        const float lower = (x0 + 1 - x) * read(y0 + 1, x0, c) + (x - x0) * read(y0 + 1, x0 + 1, c);
        out.pixel(i, j)[c] = (y0 + 1 - y) * upper + (y - y0) * lower;
      }
    }
  }
}

void adjust_brightness(View<float> out, View<const float> in, float delta) {
  expect_same("adjust_brightness", out, in);
  each(out, in, [delta](float v, int) { return v + delta; });
}

void adjust_contrast(View<float> out, View<const float> in, float factor) {
  expect_same("adjust_contrast", out, in);
  for (int c = 0; c < in.channels; ++c) {
    double sum = 0;
    for (int y = 0; y < in.height; ++y) {
      for (int x = 0; x < in.width; ++x) sum += in.pixel(y, x)[c];
    }
    const auto mean =
        static_cast<float>(sum / (static_cast<double>(in.height) * static_cast<double>(in.width)));
    for (int y = 0; y < in.height; ++y) {
      for (int x = 0; x < in.width; ++x) {
        out.pixel(y, x)[c] = (in.pixel(y, x)[c] - mean) * factor + mean;
      }
    }
  }
}

void normalise(View<float> out, View<const float> in, std::span<const float> mean,
               std::span<const float> deviation) {
  expect_same("normalise", out, in);
  const auto channels = static_cast<std::size_t>(in.channels);
  if (mean.size() != channels || deviation.size() != channels) {
    throw InvalidArgument("[normalise] " + std::to_string(mean.size()) + " means and " +
                          std::to_string(deviation.size()) + " deviations for " +
                          std::to_string(channels) + " channels");
  }
  if (std::ranges::find(deviation, 0.0F) != deviation.end()) {
    throw InvalidArgument("[normalise] a deviation is 0");
  }
  each(out, in, [&](float v, int c) {
    const auto i = static_cast<std::size_t>(c);
    return (v - mean[i]) / deviation[i];
  });
}

void to_float(View<float> out, View<const std::uint8_t> in) {
  expect_same("to_float", out, in);
  each(out, in, [](std::uint8_t v, int) { return static_cast<float>(v) * (1.0F / 255); });
}

void to_bytes(View<std::uint8_t> out, View<const float> in) {
  expect_same("to_bytes", out, in);
  each(out, in, [](float v, int) {
    const float scaled = v * 255.5F;
    if (!(scaled > 0)) return std::uint8_t{0};
    return static_cast<std::uint8_t>(std::min(scaled, 255.0F));
  });
}

void to_planes(float* planes, View<const float> in) {
  for (int c = 0; c < in.channels; ++c) {
    for (int y = 0; y < in.height; ++y) {
      for (int x = 0; x < in.width; ++x) *planes++ = in.pixel(y, x)[c];
    }
  }
}

void from_planes(View<float> out, const float* planes) {
  for (int c = 0; c < out.channels; ++c) {
    for (int y = 0; y < out.height; ++y) {
      for (int x = 0; x < out.width; ++x) out.pixel(y, x)[c] = *planes++;
    }
  }
}

}  // namespace plimsoll::image
