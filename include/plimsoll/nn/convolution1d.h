#pragma once

#include <optional>

#include <plimsoll/nn/module.h>
#include <plimsoll/nn/window.h>

// Convolutions over sequences x [n, channels, length]: those over pictures of one row, with the
// same kernels.

namespace plimsoll::nn {

/// Zeros before and after a sequence: `.padding = 1`, `.padding = {2, 0}`, nn::kSame, nn::kCausal.
struct SequencePadding {
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool same = false;    ///< length / stride, rounded up, goes out
  bool causal = false;  ///< all of it in front: no element sees a later one
  SequencePadding(std::int64_t both) : before(both), after(both) {}  // NOLINT: {.padding = 1}
  SequencePadding(std::int64_t first, std::int64_t last) : before(first), after(last) {}
  SequencePadding(const WindowPadding& window)  // NOLINT: {.padding = nn::kSame}
      : before(window.across), after(window.across), same(window.same) {}
};
inline const SequencePadding kCausal = [] {
  SequencePadding padding(0);
  padding.causal = true;
  return padding;
}();

struct Conv1DOptions {
  std::int64_t in = 0;  ///< channels that come in; 0: those of the first input
  std::int64_t stride = 1;
  SequencePadding padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  /// Default: Init::fan_in_uniform for both. With a weight's given, the bias starts at 0.
  std::optional<Init> init = {};
};

/// Cross-correlation with `weight` [out, in/groups, size], plus `bias` [out].
class Conv1D final : public Module {
 public:
  Conv1D(std::int64_t out, std::int64_t size, const Conv1DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  std::int64_t size_;
  Conv1DOptions options_;
};

struct DepthwiseConv1DOptions {
  std::int64_t in = 0;          ///< channels that come in; 0: those of the first input
  std::int64_t multiplier = 1;  ///< channels that go out for each that comes in
  std::int64_t stride = 1;
  SequencePadding padding = 0;
  std::int64_t dilation = 1;
  bool bias = true;
};

/// Every channel by itself, as DepthwiseConv2D: `weight` is [in * multiplier, 1, size].
class DepthwiseConv1D final : public Module {
 public:
  explicit DepthwiseConv1D(std::int64_t size, const DepthwiseConv1DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t size_;
  DepthwiseConv1DOptions options_;
};

/// A depthwise convolution without bias ("depthwise"), then one of single elements ("pointwise"),
/// which has the bias, as SeparableConv2D.
class SeparableConv1D final : public Module {
 public:
  SeparableConv1D(std::int64_t out, std::int64_t size, const DepthwiseConv1DOptions& options = {});
  Tensor forward(const Tensor& x) const override { return pointwise_(depthwise_(x)); }

 private:
  DepthwiseConv1D depthwise_;
  Conv1D pointwise_;
};

struct ConvTranspose1DOptions {
  std::int64_t in = 0;              ///< channels that come in; 0: those of the first input
  std::int64_t stride = 0;          ///< 0: the window's size
  std::int64_t padding = 0;         ///< taken away at both ends
  std::int64_t output_padding = 0;  ///< added at the end; less than the stride
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

/// As ConvTranspose2D: `weight` is [in, out/groups, size].
class ConvTranspose1D final : public Module {
 public:
  ConvTranspose1D(std::int64_t out, std::int64_t size, const ConvTranspose1DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  std::int64_t size_;
  ConvTranspose1DOptions options_;
};

}  // namespace plimsoll::nn
