#pragma once

#include <optional>

#include <plimsoll/nn/weight_form.h>
#include <plimsoll/nn/window.h>
#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

struct Conv2DOptions {
  std::int64_t in = 0;  ///< channels that come in; 0: those of the first input
  Pair stride = 1;
  WindowPadding padding = 0;  ///< or kSame
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Layout layout = Layout::channels_first;
  /// Default: Init::fan_in_uniform for both. With a weight's given, the bias starts at 0.
  std::optional<Init> init = {};
  WeightForm form = WeightForm::plain;
};

/// Cross-correlation with `weight` [out, in/groups, height, width], plus `bias` [out].
class Conv2D final : public WeightedModule {
 public:
  Conv2D(std::int64_t out, Pair size, const Conv2DOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  /// InvalidArgument as long as it is not known what comes in.
  const Parameter& weight() const;
  /// Undefined if there is none.
  Tensor bias() const;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  Pair size_;
  Conv2DOptions options_;
};

struct DepthwiseConv2DOptions {
  std::int64_t in = 0;          ///< channels that come in; 0: those of the first input
  std::int64_t multiplier = 1;  ///< channels that go out for each that comes in
  Pair stride = 1;
  WindowPadding padding = 0;  ///< or kSame
  Pair dilation = 1;
  bool bias = true;
  Layout layout = Layout::channels_first;
  std::optional<Init> init = {};
};

/// Every channel by itself: a convolution with as many groups as channels, `weight` [in *
/// multiplier, 1, height, width].
class DepthwiseConv2D final : public Module {
 public:
  explicit DepthwiseConv2D(Pair size, const DepthwiseConv2DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  Pair size_;
  DepthwiseConv2DOptions options_;
};

/// A depthwise convolution without bias ("depthwise"), then one of 1x1 ("pointwise"): Chollet 2016.
/// The options are the depthwise one's, but for `bias`, which is the other's.
class SeparableConv2D final : public Module {
 public:
  SeparableConv2D(std::int64_t out, Pair size, const DepthwiseConv2DOptions& options = {});
  Tensor forward(const Tensor& x) const override { return pointwise_(depthwise_(x)); }

 private:
  DepthwiseConv2D depthwise_;
  Conv2D pointwise_;
};

struct ConvTranspose2DOptions {
  std::int64_t in = 0;           ///< channels that come in; 0: those of the first input
  Pair stride = {0, 0};          ///< 0: the window's size
  Pair padding = 0;              ///< taken away on every side
  Pair output_padding = {0, 0};  ///< added below and to the right; less than the stride
  Pair dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

/// The gradient of a convolution by its input as a layer, which makes pictures larger: `weight` is
/// [in, out/groups, height, width]. The result has (size - 1) * stride - 2 * padding + dilation *
/// (window - 1) + output_padding + 1 pixels.
class ConvTranspose2D final : public Module {
 public:
  ConvTranspose2D(std::int64_t out, Pair size, const ConvTranspose2DOptions& options = {});
  /// With windows as large as the stride, which do not overlap.
  ConvTranspose2D(std::int64_t out, std::int64_t stride, std::int64_t in)
      : ConvTranspose2D(out, stride, ConvTranspose2DOptions{.in = in}) {}
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  Pair size_;
  ConvTranspose2DOptions options_;
};

}  // namespace plimsoll::nn
