#pragma once

#include <plimsoll/nn/module.h>
#include <plimsoll/nn/window.h>

namespace plimsoll::nn {

struct Pool2DOptions {
  Pair stride = {0, 0};       ///< 0: the window's size
  WindowPadding padding = 0;  ///< or kSame
  Layout layout = Layout::channels_first;
};

/// The largest in each window; padding never wins.
class MaxPool2D final : public Module {
 public:
  explicit MaxPool2D(Pair size, const Pool2DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Pair size_;
  Pool2DOptions options_;
};

/// The mean of each window, padding not counted.
class AvgPool2D final : public Module {
 public:
  explicit AvgPool2D(Pair size, const Pool2DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  Pair size_;
  Pool2DOptions options_;
};

/// The mean over height and width: [n, channels].
class GlobalAvgPool2D final : public Module {
 public:
  explicit GlobalAvgPool2D(Layout layout = Layout::channels_first) : layout_(layout) {}
  Tensor forward(const Tensor& x) const override { return ops::global_avg_pool2d(x, layout_); }

 private:
  Layout layout_;
};

/// The largest over height and width: [n, channels].
class GlobalMaxPool2D final : public Module {
 public:
  explicit GlobalMaxPool2D(Layout layout = Layout::channels_first) : layout_(layout) {}
  Tensor forward(const Tensor& x) const override;

 private:
  Layout layout_;
};

struct Pool1DOptions {
  std::int64_t stride = 0;  ///< 0: the window's size
  std::int64_t padding = 0;
};

/// As those above, over sequences [n, channels, length].
class MaxPool1D final : public Module {
 public:
  explicit MaxPool1D(std::int64_t size, const Pool1DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t size_;
  Pool1DOptions options_;
};
class AvgPool1D final : public Module {
 public:
  explicit AvgPool1D(std::int64_t size, const Pool1DOptions& options = {});
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t size_;
  Pool1DOptions options_;
};
class GlobalAvgPool1D final : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};
class GlobalMaxPool1D final : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
};

}  // namespace plimsoll::nn
