#include "data/image/kernels.h"

#include <algorithm>

#include "data/image/kernels_avx2.h"
#include "data/image/kernels_avx512.h"

namespace plimsoll::image {
namespace {

void blend_rows(std::uint16_t* sum, const std::uint8_t* near, const std::uint8_t* far, int n) {
  for (int i = 0; i < n; ++i) sum[i] = static_cast<std::uint16_t>(3 * near[i] + far[i]);
}

void double_columns(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, int n,
                    int even_bias, int odd_bias, int shift) {
  const auto sum = [&](int i) { return 3 * near[i] + far[i]; };
  for (int i = 0; i < n; ++i) {
    out[2 * i] = static_cast<std::uint8_t>((3 * sum(i) + sum(i - 1) + even_bias) >> shift);
    out[2 * i + 1] = static_cast<std::uint8_t>((3 * sum(i) + sum(i + 1) + odd_bias) >> shift);
  }
}

std::uint8_t clamp_byte(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

void ycc_to_rgbx(std::uint8_t* rgbx, const std::uint8_t* y, const std::uint8_t* cb,
                 const std::uint8_t* cr, int n) {
  // 16-bit fixed point, as in libjpeg.
  constexpr int kHalf = 1 << 15;
  constexpr int kCrToR = 91881;
  constexpr int kCbToB = 116130;
  constexpr int kCbToG = 22554;
  constexpr int kCrToG = 46802;
  for (int i = 0; i < n; ++i) {
    const int b = cb[i] - 128;
    const int r = cr[i] - 128;
    rgbx[4 * i] = clamp_byte(y[i] + ((kCrToR * r + kHalf) >> 16));
    rgbx[4 * i + 1] = clamp_byte(y[i] + ((-kCbToG * b - kCrToG * r + kHalf) >> 16));
    rgbx[4 * i + 2] = clamp_byte(y[i] + ((kCbToB * b + kHalf) >> 16));
    rgbx[4 * i + 3] = 255;
  }
}

void resize_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps, int n) {
  for (int x = 0; x < n; ++x) {
    const std::uint8_t* pixel = row + taps.offsets[x];
    const int left = taps.weights[8 * x];
    const int right = taps.weights[8 * x + 1];
    for (int c = 0; c < 4; ++c) {
      out[4 * x + c] = static_cast<float>(pixel[c] * left + pixel[c + 4] * right);
    }
  }
}

void interpolate_columns(float* out, const std::uint8_t* row, const ColumnTaps& taps, int n) {
  for (int x = 0; x < n; ++x) {
    const std::uint8_t* pixel = row + taps.offsets[x];
    for (int c = 0; c < 4; ++c) {
      const auto left = static_cast<float>(pixel[c]);
      out[4 * x + c] = left + (static_cast<float>(pixel[c + 4]) - left) * taps.shares[x];
    }
  }
}

void blend_pixels(float* out, const float* a, const float* b, float t, const float* scale,
                  const float* bias, int n) {
  for (int x = 0; x < n; ++x) {
    for (int c = 0; c < 4; ++c) {
      const int i = 4 * x + c;
      out[i] = (a[i] + (b[i] - a[i]) * t) * scale[c] + bias[c];
    }
  }
}

void blend_pixels_rgb(float* out, const float* a, const float* b, float t, const float* scale,
                      const float* bias, int n) {
  for (int x = 0; x < n; ++x) {
    for (int c = 0; c < 3; ++c) {
      const int i = 4 * x + c;
      out[3 * x + c] = (a[i] + (b[i] - a[i]) * t) * scale[c] + bias[c];
    }
  }
}

void split_rgb(float* r, float* g, float* b, const float* pixels, int n) {
  for (int x = 0; x < n; ++x) {
    r[x] = pixels[4 * x];
    g[x] = pixels[4 * x + 1];
    b[x] = pixels[4 * x + 2];
  }
}

}  // namespace

const RowKernels& generic_row_kernels() {
  static constexpr RowKernels kernels{.name = "generic",
                                      .picks_columns = false,
                                      .blend_rows = blend_rows,
                                      .double_columns = double_columns,
                                      .ycc_to_rgbx = ycc_to_rgbx,
                                      .resize_columns = resize_columns,
                                      .interpolate_columns = interpolate_columns,
                                      .blend_pixels = blend_pixels,
                                      .blend_pixels_rgb = blend_pixels_rgb,
                                      .split_rgb = split_rgb};
  return kernels;
}

std::vector<const RowKernels*> row_kernel_variants() {
  std::vector<const RowKernels*> variants{&generic_row_kernels(), avx2_row_kernels(),
                                          avx512_row_kernels()};
  std::erase(variants, nullptr);
  return variants;
}

const RowKernels& row_kernels() {
  static const RowKernels& best = *row_kernel_variants().back();
  return best;
}

}  // namespace plimsoll::image
