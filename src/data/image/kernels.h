#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll::image {

/// Where the columns of a resized row come from: each from two neighbouring pixels of four bytes.
/// There are as many as columns, rounded up to a multiple of kColumnGroup.
struct ColumnTaps {
  /// Per column: the left pixel, in bytes from the start of the row; the right one follows it.
  const std::int32_t* offsets;
  /// Per column: the weights of the left and the right pixel, which sum to kWeightOne, four times
  /// over (once per channel).
  const std::int16_t* weights;
  /// Per column: the weight of the right pixel, exactly; null where `weights` are there.
  const float* shares;
  /// Per kColumnGroup columns, for kernels that pick their pixels from one load of 64 bytes: where
  /// it begins, and which byte of it is the low one of each word that `weights` are for. Null where
  /// pixels are further apart.
  const std::int32_t* starts = nullptr;
  const std::uint8_t* picks = nullptr;
};

inline constexpr int kColumnGroup = 4;
inline constexpr int kGroupPicks = 64;

inline constexpr int kWeightOne = 1 << 14;

/// Row kernels of the fused loader. All variants give the same bits. Rows of pixels have four
/// bytes per pixel; every row that is read or written may be touched up to kRowSlack bytes past
/// its end.
struct RowKernels {
  const char* name;
  bool picks_columns;  ///< resize_columns() is faster with ColumnTaps::picks

  /// sum[i] = 3 * near[i] + far[i]
  void (*blend_rows)(std::uint16_t* sum, const std::uint8_t* near, const std::uint8_t* far, int n);

  /// Doubles a row of such sums as libjpeg's triangle filter does: out[2i] = (3*sum[i] + sum[i-1] +
  /// even_bias) >> shift, out[2i+1] = (3*sum[i] + sum[i+1] + odd_bias) >> shift. The rows begin at
  /// -1 and end after n.
  void (*double_columns)(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far,
                         int n, int even_bias, int odd_bias, int shift);

  /// JPEG's YCbCr to RGB and 255, with libjpeg's rounding.
  void (*ycc_to_rgbx)(std::uint8_t* rgbx, const std::uint8_t* y, const std::uint8_t* cb,
                      const std::uint8_t* cr, int n);

  /// out[4x + c] = left weight * left pixel + right weight * right pixel, exactly.
  void (*resize_columns)(float* out, const std::uint8_t* row, const ColumnTaps& taps, int n);

  /// out[4x + c] = left + (right - left) * share, in f32.
  void (*interpolate_columns)(float* out, const std::uint8_t* row, const ColumnTaps& taps, int n);

  /// out[4x + c] = (a + (b - a) * t) * scale[c] + bias[c]
  void (*blend_pixels)(float* out, const float* a, const float* b, float t, const float* scale,
                       const float* bias, int n);

  /// The same, dropping the fourth channel: out[3x + c]. Writes 3 * n floats and no more.
  void (*blend_pixels_rgb)(float* out, const float* a, const float* b, float t, const float* scale,
                           const float* bias, int n);

  /// r[x], g[x], b[x] = pixels[4x], pixels[4x + 1], pixels[4x + 2]
  void (*split_rgb)(float* r, float* g, float* b, const float* pixels, int n);
};

inline constexpr int kRowSlack = 64;

/// Plain C++.
const RowKernels& generic_row_kernels();

/// All that this processor runs, the fastest last.
std::vector<const RowKernels*> row_kernel_variants();

/// The fastest.
const RowKernels& row_kernels();

}  // namespace plimsoll::image
