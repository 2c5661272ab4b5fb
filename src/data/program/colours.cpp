#include "data/program/colours.h"

#include <cmath>

#include <plimsoll/data/image/clones.h>

#include "data/program/colour_rows.h"

namespace plimsoll::data {
namespace {

std::int64_t count_of(const ColourPicture& picture) { return picture.pixels * picture.channels; }

PLIMSOLL_PICTURE_CLONES void scale_values(float* values, std::int64_t count, float by, float add,
                                          float top) {
  each_value(values, count, [=](float value) PLIMSOLL_INLINE_LAMBDA {
    return kept_within(value * by + add, top);
  });
}

PLIMSOLL_PICTURE_CLONES double gray_total(const float* pixels, std::int64_t count, bool whole) {
  double total = 0;
  ColourChunk chunk;
  float rest[3 * kChunk] = {};
  for (std::int64_t i = 0; i < count; i += kChunk) {
    const float* from = pixels + 3 * i;
    if (count - i < kChunk) {
      std::copy_n(from, 3 * (count - i), rest);  // what follows is black
      from = rest;
    }
    take_apart(chunk, from);
    float lanes[16] = {};
    for (int k = 0; k < kChunk; k += 16) {
      for (int lane = 0; lane < 16; ++lane) {
        const float gray = gray_of(chunk.r[k + lane], chunk.g[k + lane], chunk.b[k + lane]);
        lanes[lane] += whole ? std::floor(gray) : gray;
      }
    }
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    total += sum;
  }
  return total;
}

PLIMSOLL_PICTURE_CLONES void saturate(float* pixels, std::int64_t count, float ratio, float top,
                                      bool whole) {
  each_chunk(pixels, count, [=](ColourChunk& chunk) PLIMSOLL_INLINE_LAMBDA {
    for (int i = 0; i < kChunk; ++i) {
      float gray = gray_of(chunk.r[i], chunk.g[i], chunk.b[i]);
      gray = (whole ? std::floor(gray) : gray) * (1 - ratio);
      chunk.r[i] = kept_within(chunk.r[i] * ratio + gray, top);
      chunk.g[i] = kept_within(chunk.g[i] * ratio + gray, top);
      chunk.b[i] = kept_within(chunk.b[i] * ratio + gray, top);
    }
  });
}

PLIMSOLL_PICTURE_CLONES void turn_hue(float* pixels, std::int64_t count, float amount,
                                      float from_top, float to_top) {
  each_chunk(pixels, count, [=](ColourChunk& chunk) PLIMSOLL_INLINE_LAMBDA {
    for (int i = 0; i < kChunk; ++i) {
      Hsv hsv = to_hsv(chunk.r[i] * from_top, chunk.g[i] * from_top, chunk.b[i] * from_top);
      hsv.h += amount;
      hsv.h -= std::floor(hsv.h);
      chunk.r[i] = channel_of(hsv, 5) * to_top;
      chunk.g[i] = channel_of(hsv, 3) * to_top;
      chunk.b[i] = channel_of(hsv, 1) * to_top;
    }
  });
}

PLIMSOLL_PICTURE_CLONES void multiply_saturation(float* pixels, std::int64_t count, float factor,
                                                 float top) {
  each_chunk(pixels, count, [=](ColourChunk& chunk) PLIMSOLL_INLINE_LAMBDA {
    for (int i = 0; i < kChunk; ++i) {
      Hsv hsv = to_hsv(chunk.r[i] / top, chunk.g[i] / top, chunk.b[i] / top);
      hsv.s = kept_within(hsv.s * factor, 1.0F);
      chunk.r[i] = channel_of(hsv, 5) * top;
      chunk.g[i] = channel_of(hsv, 3) * top;
      chunk.b[i] = channel_of(hsv, 1) * top;
    }
  });
}

PLIMSOLL_PICTURE_CLONES void solarize_values(float* values, std::int64_t count, float from,
                                             float top) {
  each_value(values, count, [=](float value) PLIMSOLL_INLINE_LAMBDA {
    return value >= from ? top - value : value;
  });
}

PLIMSOLL_PICTURE_CLONES void posterize_values(float* values, std::int64_t count, float levels,
                                              float top) {
  each_value(values, count, [=](float value) PLIMSOLL_INLINE_LAMBDA {
    return std::min(std::max(std::floor(value / top * levels), 0.0F), levels - 1) * (1 / levels) *
           top;
  });
}

PLIMSOLL_PICTURE_CLONES void gray_pixels(float* pixels, std::int64_t count) {
  each_chunk(pixels, count, [](ColourChunk& chunk) PLIMSOLL_INLINE_LAMBDA {
    for (int i = 0; i < kChunk; ++i) {
      const float gray = gray_of(chunk.r[i], chunk.g[i], chunk.b[i]);
      chunk.r[i] = chunk.g[i] = chunk.b[i] = gray;
    }
  });
}

PLIMSOLL_PICTURE_CLONES void cut(float* values, std::int64_t count, float top, bool rounded) {
  each_value(values, count, [=](float value) PLIMSOLL_INLINE_LAMBDA {
    return std::floor(kept_within(rounded ? std::nearbyint(value) : value, top));
  });
}

PLIMSOLL_PICTURE_CLONES void to_floats(float* to, const std::uint8_t* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    for (int k = 0; k < kChunk; ++k) to[i + k] = static_cast<float>(from[i + k]);
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

PLIMSOLL_PICTURE_CLONES void to_bytes(std::uint8_t* to, const float* from, std::int64_t count,
                                      bool rounded) {
  std::int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    for (int k = 0; k < kChunk; ++k) {
      const float value = rounded ? std::nearbyint(from[i + k]) : from[i + k];
      to[i + k] = static_cast<std::uint8_t>(static_cast<int>(kept_within(value, 255.0F)));
    }
  }
  for (; i < count; ++i) {
    const float value = rounded ? std::nearbyint(from[i]) : from[i];
    to[i] = static_cast<std::uint8_t>(static_cast<int>(kept_within(value, 255.0F)));
  }
}

}  // namespace

void change_brightness(const ColourPicture& picture, double factor, double most) {
  scale_values(picture.data, count_of(picture), static_cast<float>(factor), 0,
               static_cast<float>(most));
}

void change_contrast(const ColourPicture& picture, double factor, double most) {
  double total = 0;
  if (picture.channels == 3) {
    total = gray_total(picture.data, picture.pixels, picture.whole);
  } else {
    for (std::int64_t i = 0; i < picture.pixels; ++i) total += picture.data[i];
  }
  const double mean = total / static_cast<double>(std::max<std::int64_t>(1, picture.pixels));
  const auto ratio = static_cast<float>(factor);
  scale_values(picture.data, count_of(picture), ratio, static_cast<float>(mean) * (1 - ratio),
               static_cast<float>(most));
}

void change_saturation(const ColourPicture& picture, double factor, double most) {
  if (picture.channels != 3) return;
  saturate(picture.data, picture.pixels, static_cast<float>(factor), static_cast<float>(most),
           picture.whole);
}

void change_hue(const ColourPicture& picture, double amount, double most) {
  if (picture.channels != 3) return;
  const auto top = static_cast<float>(most);
  // Whole values are as many as fit equal parts of 0 to 1.
  turn_hue(picture.data, picture.pixels, static_cast<float>(amount), 1 / top,
           picture.whole ? top + 1 - 1e-3F : top);
}

void change_solarize(const ColourPicture& picture, double threshold, double most) {
  solarize_values(picture.data, count_of(picture), static_cast<float>(threshold),
                  static_cast<float>(most));
}

void change_posterize(const ColourPicture& picture, double bits, double most) {
  const auto levels = static_cast<float>(1 << static_cast<int>(bits));
  // The upper bits of a byte are its levels of 256.
  posterize_values(picture.data, count_of(picture), levels,
                   picture.whole ? 256.0F : static_cast<float>(most));
}

void make_gray(const ColourPicture& picture) { gray_pixels(picture.data, picture.pixels); }

void change_tf_contrast(const ColourPicture& picture, double factor, double most) {
  const auto ratio = static_cast<float>(factor);
  for (int c = 0; c < picture.channels; ++c) {
    double total = 0;
    for (std::int64_t i = 0; i < picture.pixels; ++i) {
      total += picture.data[i * picture.channels + c];
    }
    const auto mean =
        static_cast<float>(total / static_cast<double>(std::max<std::int64_t>(1, picture.pixels)));
    for (std::int64_t i = 0; i < picture.pixels; ++i) {
      float& value = picture.data[i * picture.channels + c];
      value = (value - mean) * ratio + mean;
    }
  }
  if (picture.whole) cut_to_whole(picture, most, true);
}

void change_tf_saturation(const ColourPicture& picture, double factor, double most) {
  multiply_saturation(picture.data, picture.pixels, static_cast<float>(factor),
                      static_cast<float>(most));
  if (picture.whole) cut_to_whole(picture, most, true);
}

void change_tf_brightness(const ColourPicture& picture, double amount, double most) {
  for (std::int64_t i = 0; i < count_of(picture); ++i) {
    picture.data[i] += static_cast<float>(amount * most);
  }
  if (picture.whole) cut_to_whole(picture, most, true);
}

void cut_to_whole(const ColourPicture& picture, double most, bool rounded) {
  cut(picture.data, count_of(picture), static_cast<float>(most), rounded);
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
  to_floats(data_, from.as<std::uint8_t>(), count);
}

FloatPicture::~FloatPicture() {
  if (block_ != nullptr) scratch_.free(block_);
}

void FloatPicture::write(Tensor& to, bool rounded) const {
  if (block_ != nullptr) to_bytes(to.mutable_data<std::uint8_t>(), data_, to.elements(), rounded);
}

}  // namespace plimsoll::data
