#pragma once

#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

/// Pictures [n, channels, h, w] as [n, channels, height, width], each pixel a mean of the four
/// around it. Centres of pixels are aligned, as TensorFlow and PyTorch do it by default; with
/// `align_corners` those of the corners are. Written as a product with a matrix for each side.
Tensor resize_bilinear2d(const Tensor& x, std::int64_t height, std::int64_t width,
                         bool align_corners = false);
/// Sequences [n, channels, l] as [n, channels, length], in the same way.
Tensor resize_linear1d(const Tensor& x, std::int64_t length, bool align_corners = false);

enum class Upsampling : std::uint8_t { nearest, bilinear };

/// Pictures [n, channels, height, width] made `factor` times larger.
class Upsample2D final : public Module {
 public:
  /// InvalidArgument for a factor below 1.
  explicit Upsample2D(std::int64_t factor, Upsampling mode = Upsampling::nearest);
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t factor_;
  Upsampling mode_;
};

}  // namespace plimsoll::nn
