#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <jpeglib.h>

namespace plimsoll::image::testing {

using File = std::vector<std::byte>;

struct JpegKind {
  int width = 64;
  int height = 48;
  int quality = 85;
  /// Horizontal and vertical sampling factors per component; one component makes a gray picture.
  std::vector<std::array<int, 2>> sampling{{2, 2}, {1, 1}, {1, 1}};
  bool progressive = false;
  /// A scan per component, sequential.
  bool separate_scans = false;
  bool arithmetic = false;
  /// MCUs between restart markers; 0: none.
  int restart = 0;
  /// Huffman tables made for the picture, not those of the standard.
  bool optimized = false;
  unsigned seed = 1;
};

/// Rows of interleaved channels.
using Pixels = std::vector<unsigned char>;

/// Encodes `pixels`: kind.width x kind.height, as many channels as kind.sampling has.
inline File encode_jpeg(const JpegKind& kind, const Pixels& pixels) {
  const int channels = static_cast<int>(kind.sampling.size());
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = static_cast<JDIMENSION>(kind.width);
  cinfo.image_height = static_cast<JDIMENSION>(kind.height);
  cinfo.input_components = channels;
  cinfo.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, kind.quality, TRUE);
  cinfo.arith_code = kind.arithmetic ? TRUE : FALSE;
  cinfo.optimize_coding = kind.optimized ? TRUE : FALSE;
  cinfo.restart_interval = static_cast<unsigned>(kind.restart);
  for (int i = 0; i < channels; ++i) {
    cinfo.comp_info[i].h_samp_factor = kind.sampling[static_cast<std::size_t>(i)][0];
    cinfo.comp_info[i].v_samp_factor = kind.sampling[static_cast<std::size_t>(i)][1];
  }
  std::vector<jpeg_scan_info> scans;
  if (kind.progressive) jpeg_simple_progression(&cinfo);
  if (kind.separate_scans) {
    for (int i = 0; i < channels; ++i) scans.push_back({1, {i, 0, 0, 0}, 0, 63, 0, 0});
    cinfo.scan_info = scans.data();
    cinfo.num_scans = channels;
  }
  jpeg_start_compress(&cinfo, TRUE);
  const std::size_t stride = static_cast<std::size_t>(kind.width) * kind.sampling.size();
  Pixels row(stride);
  while (cinfo.next_scanline < cinfo.image_height) {
    std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(cinfo.next_scanline * stride), stride,
                row.begin());
    JSAMPROW target = row.data();
    jpeg_write_scanlines(&cinfo, &target, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  File file(bytes, bytes + size);
  std::free(buffer);
  return file;
}

/// A noisy picture, encoded.
inline File make_jpeg(const JpegKind& kind) {
  std::mt19937 random(kind.seed);
  const int channels = static_cast<int>(kind.sampling.size());
  Pixels pixels;
  pixels.reserve(static_cast<std::size_t>(kind.width * channels) *
                 static_cast<std::size_t>(kind.height));
  for (int y = 0; y < kind.height; ++y) {
    for (int x = 0; x < kind.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int base = 128 + 6 * (x % 19) * (c == 0 ? 1 : -1) + 5 * (y % 23) * (c == 1 ? -1 : 1);
        pixels.push_back(static_cast<unsigned char>(
            std::clamp(base + static_cast<int>(random() % 41) - 20, 0, 255)));
      }
    }
  }
  return encode_jpeg(kind, pixels);
}

/// What a camera might see, in RGB.
struct Scene {
  int width = 500;
  int height = 375;
  /// Detail at all scales, as in foliage or crowds; without it, soft gradients.
  bool textured = false;
  /// Standard deviation of the sensor's noise.
  float grain = 5;
  unsigned seed = 1;
};

/// Adds noise that changes every `cell` pixels and is interpolated in between.
inline void add_octave(std::vector<float>& picture, const Scene& scene, int cell, float strength,
                       std::mt19937& random) {
  std::uniform_real_distribution<float> any(-strength, strength);
  const int across = scene.width / cell + 2;
  std::vector<float> corners(static_cast<std::size_t>(across) *
                             static_cast<std::size_t>(scene.height / cell + 2) * 3);
  for (float& v : corners) v = any(random);
  float* out = picture.data();
  for (int y = 0; y < scene.height; ++y) {
    const float fy = static_cast<float>(y % cell) / static_cast<float>(cell);
    for (int x = 0; x < scene.width; ++x) {
      const float fx = static_cast<float>(x % cell) / static_cast<float>(cell);
      const float* top =
          &corners[static_cast<std::size_t>(y / cell * across + x / cell) * std::size_t{3}];
      const float* bottom = top + std::ptrdiff_t{3} * across;
      for (int c = 0; c < 3; ++c) {
        const float above = top[c] + (top[c + 3] - top[c]) * fx;
        const float below = bottom[c] + (bottom[c + 3] - bottom[c]) * fx;
        *out++ += above + (below - above) * fy;
      }
    }
  }
}

/// Shapes with hard edges.
inline void add_discs(std::vector<float>& picture, const Scene& scene, std::mt19937& random) {
  std::uniform_real_distribution<float> any(0, 1);
  for (int i = 0; i < 6; ++i) {
    const float x = any(random) * static_cast<float>(scene.width);
    const float y = any(random) * static_cast<float>(scene.height);
    const float radius = any(random) * static_cast<float>(scene.height) / 6;
    const std::array<float, 3> colour{255 * any(random), 255 * any(random), 255 * any(random)};
    const int first = std::max(0, static_cast<int>(y - radius));
    const int last = std::min(scene.height - 1, static_cast<int>(y + radius));
    for (int row = first; row <= last; ++row) {
      const float dy = static_cast<float>(row) - y;
      const float half = std::sqrt(std::max(0.0F, radius * radius - dy * dy));
      const int from = std::max(0, static_cast<int>(x - half));
      const int to = std::min(scene.width - 1, static_cast<int>(x + half));
      for (int column = from; column <= to; ++column) {
        std::copy_n(colour.begin(), 3,
                    picture.begin() + (std::ptrdiff_t{row} * scene.width + column) * 3);
      }
    }
  }
}

inline Pixels draw(const Scene& scene) {
  std::mt19937 random(scene.seed);
  std::vector<float> picture(
      static_cast<std::size_t>(scene.width) * static_cast<std::size_t>(scene.height) * 3, 128.0F);
  const int coarse = std::max(12, scene.width / 40);
  add_octave(picture, scene, coarse, 128, random);
  add_discs(picture, scene, random);
  if (scene.textured) {
    // Contrast falls with the frequency, as it does in nature.
    float strength = 40;
    for (int cell = 16; cell >= 2; cell /= 2, strength /= 1.5F) {
      add_octave(picture, scene, cell, strength, random);
    }
  }
  std::normal_distribution<float> noise(0, scene.grain);
  std::vector<float> grain(65536);
  for (float& v : grain) v = noise(random);
  Pixels pixels(picture.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] =
        static_cast<unsigned char>(std::clamp(picture[i] + grain[random() & 65535], 0.0F, 255.0F));
  }
  return pixels;
}

}  // namespace plimsoll::image::testing
