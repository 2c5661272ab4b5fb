#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// Colours in chunks of pixels, a plane per channel, in loops of a known length: the compiler makes
// vectors of them in functions that are compiled for several instruction sets.

namespace plimsoll::data {

#define PLIMSOLL_INLINE inline __attribute__((always_inline))
#define PLIMSOLL_INLINE_LAMBDA __attribute__((always_inline))

inline constexpr int kChunk = 64;

struct ColourChunk {
  alignas(64) float r[kChunk];
  alignas(64) float g[kChunk];
  alignas(64) float b[kChunk];
};

PLIMSOLL_INLINE void take_apart(ColourChunk& chunk, const float* pixels) {
  for (int i = 0; i < kChunk; ++i) {
    chunk.r[i] = pixels[3 * i];
    chunk.g[i] = pixels[3 * i + 1];
    chunk.b[i] = pixels[3 * i + 2];
  }
}

PLIMSOLL_INLINE void put_together(float* pixels, const ColourChunk& chunk) {
  for (int i = 0; i < kChunk; ++i) {
    pixels[3 * i] = chunk.r[i];
    pixels[3 * i + 1] = chunk.g[i];
    pixels[3 * i + 2] = chunk.b[i];
  }
}

/// work(chunk) for all pixels; the last chunk is filled up.
template <class Work>
PLIMSOLL_INLINE void each_chunk(float* pixels, std::int64_t count, Work work) {
  ColourChunk chunk;
  std::int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    take_apart(chunk, pixels + 3 * i);
    work(chunk);
    put_together(pixels + 3 * i, chunk);
  }
  if (i == count) return;
  float rest[3 * kChunk] = {};
  std::copy_n(pixels + 3 * i, 3 * (count - i), rest);
  take_apart(chunk, rest);
  work(chunk);
  put_together(rest, chunk);
  std::copy_n(rest, 3 * (count - i), pixels + 3 * i);
}

/// work(value) for all values.
template <class Work>
PLIMSOLL_INLINE void each_value(float* values, std::int64_t count, Work work) {
  std::int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    for (int k = 0; k < kChunk; ++k) values[i + k] = work(values[i + k]);
  }
  for (; i < count; ++i) values[i] = work(values[i]);
}

PLIMSOLL_INLINE float gray_of(float r, float g, float b) {
  return r * 0.2989F + g * 0.587F + b * 0.114F;
}

PLIMSOLL_INLINE float kept_within(float value, float top) {
  return std::min(std::max(value, 0.0F), top);
}

struct Hsv {
  float h, s, v;
};

/// As torchvision's _rgb_to_hsv, of values in 0 to 1.
PLIMSOLL_INLINE Hsv to_hsv(float r, float g, float b) {
  const float largest = std::max(r, std::max(g, b));
  const float smallest = std::min(r, std::min(g, b));
  const float range = largest - smallest;
  const bool flat = range == 0;
  const float divisor = flat ? 1.0F : range;
  const float s = range / (flat ? 1.0F : largest);
  const float scale = 1 / divisor;
  const float of_r = (b - g) * -scale;
  const float of_g = (b - r) * scale + 2;
  const float of_b = (r - g) * scale + 4;
  const float sixths = largest == r ? of_r : (largest == g ? of_g : of_b);
  const float h = sixths * (1.0F / 6) + 1;
  return {h - std::floor(h), s, largest};
}

/// One channel of a colour: 5 for red, 3 for green, 1 for blue.
PLIMSOLL_INLINE float channel_of(const Hsv& hsv, float which) {
  const float turned = which + hsv.h * 6;
  const float k = turned >= 6 ? turned - 6 : turned;
  const float weight = kept_within(std::min(k, 4 - k), 1.0F);
  return kept_within(hsv.v * (1 - hsv.s * weight), 1.0F);
}

}  // namespace plimsoll::data
