#pragma once

#include <optional>

#include <plimsoll/nn/module.h>
#include <plimsoll/nn/window.h>

// Layers over volumes x [n, channels, depth, height, width]. They are written in the ops for
// pictures: what a window sees of several slices stands side by side as channels, so that a
// convolution is one product, at the price of a copy of the input for each slice of the window. A
// planner may compute that copy again rather than keep it.

namespace plimsoll::nn {

/// Extents in depth, down and across; one number stands for all three.
struct Triple {
  std::int64_t depth = 1;
  std::int64_t down = 1;
  std::int64_t across = 1;
  Triple(std::int64_t all) : depth(all), down(all), across(all) {}  // NOLINT: {.stride = 2}
  Triple(std::int64_t first, std::int64_t second, std::int64_t third)
      : depth(first), down(second), across(third) {}
};

/// Zeros around volumes: as many on opposite sides, or nn::kSame, as WindowPadding.
struct VolumePadding {
  std::int64_t depth = 0;
  std::int64_t down = 0;
  std::int64_t across = 0;
  bool same = false;
  VolumePadding(std::int64_t all) : depth(all), down(all), across(all) {}  // NOLINT: as Triple
  VolumePadding(std::int64_t first, std::int64_t second, std::int64_t third)
      : depth(first), down(second), across(third) {}
  VolumePadding(const WindowPadding& window)  // NOLINT: {.padding = nn::kSame}
      : down(window.down), across(window.across), same(window.same) {}
};

struct Conv3DOptions {
  std::int64_t in = 0;  ///< channels that come in; 0: those of the first input
  Triple stride = 1;
  VolumePadding padding = 0;  ///< or kSame
  Triple dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  /// Default: Init::fan_in_uniform for both. With a weight's given, the bias starts at 0.
  std::optional<Init> init = {};
};

/// Cross-correlation with `weight` [out, in/groups, depth, height, width], plus `bias` [out].
class Conv3D final : public Module {
 public:
  Conv3D(std::int64_t out, Triple size, const Conv3DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  Triple size_;
  Conv3DOptions options_;
};

struct ConvTranspose3DOptions {
  std::int64_t in = 0;        ///< channels that come in; 0: those of the first input
  Triple stride = 0;          ///< 0: the window's size
  Triple padding = 0;         ///< taken away on every side
  Triple output_padding = 0;  ///< added behind, below and to the right; less than the stride
  Triple dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

/// As ConvTranspose2D: `weight` is [in, out/groups, depth, height, width].
class ConvTranspose3D final : public Module {
 public:
  ConvTranspose3D(std::int64_t out, Triple size, const ConvTranspose3DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  Triple size_;
  ConvTranspose3DOptions options_;
};

struct Pool3DOptions {
  Triple stride = 0;          ///< 0: the window's size
  VolumePadding padding = 0;  ///< or kSame
};

/// The largest in each window; padding never wins.
class MaxPool3D final : public Module {
 public:
  explicit MaxPool3D(Triple size, const Pool3DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Triple size_;
  Pool3DOptions options_;
};

/// The mean of each window, padding not counted.
class AvgPool3D final : public Module {
 public:
  explicit AvgPool3D(Triple size, const Pool3DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Triple size_;
  Pool3DOptions options_;
};

/// The mean, or the largest, over depth, height and width: [n, channels].
class GlobalAvgPool3D final : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};
class GlobalMaxPool3D final : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

}  // namespace plimsoll::nn
