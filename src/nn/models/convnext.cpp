#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/drop_path.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/nn/vision_models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

constexpr double kConvNextEpsilon = 1e-6;
constexpr double kConvNextDeviation = 0.02;

Tensor channels_last(const Tensor& x) { return ops::transpose(x, {0, 2, 3, 1}); }
Tensor channels_first(const Tensor& x) { return ops::transpose(x, {0, 3, 1, 2}); }

/// A norm over the channels of pictures that have them first: `weight` and `bias`.
class ChannelNorm final : public Module {
 public:
  explicit ChannelNorm(std::int64_t channels)
      : weight_(parameter("weight", {channels}, Init::ones())),
        bias_(parameter("bias", {channels}, Init::zeros())) {}
  Tensor forward(const Tensor& x) const override {
    return channels_first(ops::layer_norm(channels_last(x), weight_, bias_, kConvNextEpsilon));
  }

 private:
  Parameter weight_;
  Parameter bias_;
};

Conv2D convnext_conv(std::int64_t in, std::int64_t out, std::int64_t size,
                     const Conv2DOptions& more) {
  Conv2DOptions options = more;
  options.in = in;
  options.init = Init::truncated_normal(kConvNextDeviation);
  return Conv2D(out, size, options);
}

Dense convnext_dense(std::int64_t in, std::int64_t out) {
  return Dense(out, {.in = in, .init = Init::truncated_normal(kConvNextDeviation)});
}

/// A depthwise convolution, a norm and two dense layers; torchvision counts what has no weights.
class Body final : public Module {
 public:
  explicit Body(std::int64_t channels)
      : depthwise_(
            add("0", convnext_conv(channels, channels, 7, {.padding = 3, .groups = channels}))),
        norm_(add("2", LayerNorm({.features = channels, .epsilon = kConvNextEpsilon}))),
        up_(add("3", convnext_dense(channels, 4 * channels))),
        down_(add("5", convnext_dense(4 * channels, channels))) {}
  Tensor forward(const Tensor& x) const override {
    return channels_first(down_(ops::gelu(up_(norm_(channels_last(depthwise_(x)))))));
  }

 private:
  Conv2D depthwise_;
  LayerNorm norm_;
  Dense up_;
  Dense down_;
};

class ConvNextBlock final : public Module {
 public:
  ConvNextBlock(std::int64_t channels, double drop)
      : drop_(drop),
        scale_(parameter("layer_scale", {channels, 1, 1}, Init::constant(1e-6))),
        body_(add("block", Body(channels))) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor y = body_(x);
    const Tensor scaled = ops::mul(y, ops::cast(scale_, y.dtype()));
    return ops::add(x, training() ? drop_path(scaled, drop_) : scaled);
  }

 private:
  double drop_;
  Parameter scale_;
  Body body_;
};

class ConvNext final : public Classifier {
 public:
  explicit ConvNext(const ConvNextOptions& options)
      : options_(options),
        features_(add("features", Sequential())),
        classifier_(add("classifier", Sequential())) {
    const std::vector<std::int64_t>& widths = options.widths;
    features_.append(Sequential(convnext_conv(options.channels, widths[0], 4, {.stride = 4}),
                                ChannelNorm(widths[0])));
    std::int64_t total = 0;
    for (const std::int64_t blocks : options.blocks) total += blocks;
    std::int64_t number = 0;
    for (std::size_t stage = 0; stage < widths.size(); ++stage) {
      if (stage > 0) {
        features_.append(
            Sequential(ChannelNorm(widths[stage - 1]),
                       convnext_conv(widths[stage - 1], widths[stage], 2, {.stride = 2})));
      }
      Sequential blocks = features_.append(Sequential());
      for (std::int64_t i = 0; i < options.blocks[stage]; ++i) {
        const double share =
            static_cast<double>(number++) / std::max(1.0, static_cast<double>(total) - 1);
        blocks.append(ConvNextBlock(widths[stage], options.drop_path * share));
      }
    }
    classifier_.append(ChannelNorm(widths.back()));
    classifier_.append(Lambda([](const Tensor& x) {
      return ops::reshape(x, Shape{x.dim(0), x.dim(1)});
    }));
    classifier_.append(convnext_dense(widths.back(), options.classes));
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& pictures) const override {
    const Tensor mean = ops::global_avg_pool2d(features_(pictures));
    return classifier_(ops::reshape(mean, Shape{mean.dim(0), mean.dim(1), 1, 1}));
  }

 private:
  ConvNextOptions options_;
  Sequential features_;
  Sequential classifier_;
};

}  // namespace

Model convnext(const ConvNextOptions& options) {
  if (options.widths.empty() || options.widths.size() != options.blocks.size()) {
    throw InvalidArgument(
        fmt::format("[convnext] {} stages of blocks and {} widths; there must be "
                    "as many, and one at least",
                    options.blocks.size(), options.widths.size()));
  }
  const std::int64_t least = std::int64_t{4} << (options.widths.size() - 1);
  if (options.size < least) {
    throw InvalidArgument(
        fmt::format("[convnext] images of {0}x{0} are too small; use {1}x{1} "
                    "or more",
                    options.size, least));
  }
  return ConvNext(options);
}

}  // namespace plimsoll::nn
