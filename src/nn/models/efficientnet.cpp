#include <array>

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
#include <plimsoll/ops/reduce.h>

namespace plimsoll::nn {
namespace {

/// Blocks of one shape, in a row.
struct Stage {
  std::int64_t expand;
  std::int64_t size;
  std::int64_t stride;
  std::int64_t in;
  std::int64_t out;
  std::int64_t blocks;
};
constexpr std::array kStages = {Stage{1, 3, 1, 32, 16, 1},  Stage{6, 3, 2, 16, 24, 2},
                                Stage{6, 5, 2, 24, 40, 2},  Stage{6, 3, 2, 40, 80, 3},
                                Stage{6, 5, 1, 80, 112, 3}, Stage{6, 5, 2, 112, 192, 4},
                                Stage{6, 3, 1, 192, 320, 1}};

/// Convolution, norm and, unless it is left out, silu.
Sequential conv_norm(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
                     std::int64_t groups, bool activation = true) {
  Sequential all(Conv2D(out, size,
                        {.in = in,
                         .stride = stride,
                         .padding = size / 2,
                         .groups = groups,
                         .bias = false,
                         .init = Init::he_normal(out / groups * size * size)}),
                 BatchNorm2D({.channels = out}));
  if (activation) all.append(SiLU());
  return all;
}

/// Channels times what two dense layers make of their means: Hu et al. 2017.
class SqueezeExcitation final : public Module {
 public:
  SqueezeExcitation(std::int64_t channels, std::int64_t squeezed)
      : fc1_(add("fc1", Conv2D(squeezed, 1, {.in = channels, .init = Init::he_normal(squeezed)}))),
        fc2_(add("fc2", Conv2D(channels, 1, {.in = squeezed, .init = Init::he_normal(channels)}))) {
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor mean = ops::mean(x, {.axes = {2, 3}, .keep_dims = true});
    return ops::mul(x, ops::sigmoid(fc2_(ops::silu(fc1_(mean)))));
  }

 private:
  Conv2D fc1_;
  Conv2D fc2_;
};

class EfficientNetBlock final : public Module {
 public:
  EfficientNetBlock(const Stage& stage, bool first, double drop)
      : drop_(drop), body_(add("block", Sequential())) {
    const std::int64_t in = first ? stage.in : stage.out;
    const std::int64_t stride = first ? stage.stride : 1;
    const std::int64_t wide = in * stage.expand;
    residual_ = stride == 1 && in == stage.out;
    if (stage.expand != 1) body_.append(conv_norm(in, wide, 1, 1, 1));
    body_.append(conv_norm(wide, wide, stage.size, stride, wide));
    body_.append(SqueezeExcitation(wide, std::max<std::int64_t>(1, in / 4)));
    body_.append(conv_norm(wide, stage.out, 1, 1, 1, false));
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor y = body_(x);
    if (!residual_) return y;
    return ops::add(x, training() ? drop_path(y, drop_) : y);
  }

 private:
  double drop_;
  Sequential body_;
  bool residual_ = false;
};

class EfficientNet final : public Classifier {
 public:
  explicit EfficientNet(const EfficientNetOptions& options)
      : options_(options),
        features_(add("features", Sequential())),
        classifier_(add("classifier", Sequential())) {
    features_.append(conv_norm(options.channels, 32, 3, 2, 1));
    std::int64_t total = 0;
    for (const Stage& stage : kStages) total += stage.blocks;
    std::int64_t number = 0;
    for (const Stage& stage : kStages) {
      Sequential blocks = features_.append(Sequential());
      for (std::int64_t i = 0; i < stage.blocks; ++i) {
        const double share = static_cast<double>(number++) / static_cast<double>(total);
        blocks.append(EfficientNetBlock(stage, i == 0, options.drop_path * share));
      }
    }
    features_.append(conv_norm(320, 1280, 1, 1, 1));
    classifier_.append(Dropout(options.dropout));
    classifier_.append(
        Dense(options.classes, {.in = 1280, .init = Init::fan_in_uniform(options.classes)}));
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
  Tensor forward(const Tensor& pictures) const override {
    return classifier_(ops::global_avg_pool2d(features_(pictures)));
  }

 private:
  EfficientNetOptions options_;
  Sequential features_;
  Sequential classifier_;
};

}  // namespace

Model efficientnet_b0(const EfficientNetOptions& options) {
  if (options.size < 32) {
    throw InvalidArgument(fmt::format(
        "[efficientnet_b0] images of {0}x{0} are too small; use 32x32 or more", options.size));
  }
  return EfficientNet(options);
}

}  // namespace plimsoll::nn
