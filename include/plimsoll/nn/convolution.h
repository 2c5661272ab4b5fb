#pragma once

#include <optional>

#include <plimsoll/nn/module.h>
#include <plimsoll/ops/convolution.h>

namespace plimsoll::nn {

struct Conv2DOptions {
  std::int64_t in = 0;  ///< channels that come in; 0: those of the first input
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  ops::Layout layout = ops::Layout::nchw;
  /// Default: Init::fan_in_uniform for both. With a weight's given, the bias starts at 0.
  std::optional<Init> init = {};
};

/// Cross-correlation with `weight` [out, in/groups, size, size], plus `bias` [out].
class Conv2D final : public Module {
 public:
  Conv2D(std::int64_t out, std::int64_t size, const Conv2DOptions& options = {});
  Tensor forward(const Tensor& x) const override;
  /// InvalidArgument as long as it is not known what comes in.
  const Parameter& weight() const;
  /// Undefined if there is none.
  Tensor bias() const;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  std::int64_t size_;
  Conv2DOptions options_;
};

/// Its opposite, which makes pictures `stride` times larger: `weight` is [in, out, size, size], and
/// size is the stride.
class ConvTranspose2D final : public Module {
 public:
  /// `in` 0: the channels of the first input.
  ConvTranspose2D(std::int64_t out, std::int64_t stride, std::int64_t in = 0);
  Tensor forward(const Tensor& x) const override;

 private:
  void declare(std::int64_t in) const;

  std::int64_t out_;
  std::int64_t stride_;
};

struct Pool2DOptions {
  std::int64_t stride = 0;  ///< 0: the window's size
  std::int64_t padding = 0;
  ops::Layout layout = ops::Layout::nchw;
};

class MaxPool2D final : public Module {
 public:
  explicit MaxPool2D(std::int64_t size, const Pool2DOptions& options = {});
  Tensor forward(const Tensor& x) const override { return ops::max_pool2d(x, options_); }

 private:
  ops::PoolOptions options_;
};

class AvgPool2D final : public Module {
 public:
  explicit AvgPool2D(std::int64_t size, const Pool2DOptions& options = {});
  Tensor forward(const Tensor& x) const override { return ops::avg_pool2d(x, options_); }

 private:
  ops::PoolOptions options_;
};

/// [n, channels]
class GlobalAvgPool2D final : public Module {
 public:
  explicit GlobalAvgPool2D(ops::Layout layout = ops::Layout::nchw) : layout_(layout) {}
  Tensor forward(const Tensor& x) const override { return ops::global_avg_pool2d(x, layout_); }

 private:
  ops::Layout layout_;
};

}  // namespace plimsoll::nn
