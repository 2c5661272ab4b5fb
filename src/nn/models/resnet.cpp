#include <array>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

BatchNorm2D resnet_norm(std::int64_t channels, Layout layout) {
  return BatchNorm2D({.channels = channels, .layout = layout});
}

/// Without bias, as a normalisation follows; He's initialisation by what goes out.
Conv2DOptions conv_options(std::int64_t in, std::int64_t out, std::int64_t size,
                           std::int64_t stride, Layout layout) {
  return {.in = in,
          .stride = stride,
          .padding = size / 2,
          .bias = false,
          .layout = layout,
          .init = Init::he_normal(out * size * size)};
}

Conv2D resnet_conv(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
                   Layout layout) {
  return Conv2D(out, size, conv_options(in, out, size, stride, layout));
}

/// What the input goes through where it has another shape than the output.
Sequential shortcut(std::int64_t in, std::int64_t out, std::int64_t stride, Layout layout) {
  return Sequential(resnet_conv(in, out, 1, stride, layout), resnet_norm(out, layout));
}

/// Two convolutions of 3x3.
class BasicBlock final : public Module {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride, Layout layout)
      : conv1_(add("conv1", resnet_conv(in, width, 3, stride, layout))),
        bn1_(add("bn1", resnet_norm(width, layout))),
        conv2_(add("conv2", resnet_conv(width, width, 3, 1, layout))),
        bn2_(add("bn2", resnet_norm(width, layout))),
        has_shortcut_(stride != 1 || in != width) {
    if (has_shortcut_) downsample_ = add("downsample", shortcut(in, width, stride, layout));
  }

  Tensor forward(const Tensor& x) const override {
    const Tensor y = bn2_(conv2_(ops::relu(bn1_(conv1_(x)))));
    return ops::relu(ops::add(y, has_shortcut_ ? downsample_(x) : x));
  }

 private:
  Conv2D conv1_;
  BatchNorm2D bn1_;
  Conv2D conv2_;
  BatchNorm2D bn2_;
  bool has_shortcut_;
  Sequential downsample_;
};

/// 1x1, 3x3, 1x1 with four times the channels; the stride is in the middle, as in torchvision.
class Bottleneck final : public Module {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Layout layout)
      : conv1_(add("conv1", resnet_conv(in, width, 1, 1, layout))),
        bn1_(add("bn1", resnet_norm(width, layout))),
        conv2_(add("conv2", resnet_conv(width, width, 3, stride, layout))),
        bn2_(add("bn2", resnet_norm(width, layout))),
        conv3_(add("conv3", resnet_conv(width, 4 * width, 1, 1, layout))),
        bn3_(add("bn3", resnet_norm(4 * width, layout))),
        has_shortcut_(stride != 1 || in != 4 * width) {
    if (has_shortcut_) downsample_ = add("downsample", shortcut(in, 4 * width, stride, layout));
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = ops::relu(bn1_(conv1_(x)));
    y = bn3_(conv3_(ops::relu(bn2_(conv2_(y)))));
    return ops::relu(ops::add(y, has_shortcut_ ? downsample_(x) : x));
  }

 private:
  Conv2D conv1_;
  BatchNorm2D bn1_;
  Conv2D conv2_;
  BatchNorm2D bn2_;
  Conv2D conv3_;
  BatchNorm2D bn3_;
  bool has_shortcut_;
  Sequential downsample_;
};

class Resnet final : public Classifier {
 public:
  template <typename Block>
  static Resnet make(const std::array<int, 4>& blocks, std::int64_t classes,
                     const ResnetOptions& options) {
    Resnet net(options);
    std::int64_t in = 64;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Sequential stage = net.add(fmt::format("layer{}", i + 1), Sequential());
      const std::int64_t width = std::int64_t{64} << i;
      for (int b = 0; b < blocks[i]; ++b) {
        stage.append(Block(in, width, b == 0 && i > 0 ? 2 : 1, options.layout));
        in = width * Block::kExpansion;
      }
      net.stages_.push_back(stage);
    }
    net.fc_ = net.add("fc", Dense(classes, {.in = in}));
    return net;
  }

  explicit Resnet(const ResnetOptions& options)
      : options_(options),
        conv1_(add("conv1", resnet_conv(options.channels, 64, 7, 2, options.layout))),
        bn1_(add("bn1", resnet_norm(64, options.layout))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& pictures) const override {
    const Layout layout = options_.layout;
    const Tensor x = layout == Layout::channels_last
                         ? ops::transpose(in_compute_dtype(pictures), {0, 2, 3, 1})
                         : pictures;
    Tensor y = ops::relu(bn1_(conv1_(x)));
    y = ops::max_pool2d(
        y, {.size = {3, 3}, .stride = {2, 2}, .padding = ops::Padding::all(1), .layout = layout});
    for (const Sequential& stage : stages_) y = stage(y);
    return (*fc_)(ops::global_avg_pool2d(y, layout));
  }

 private:
  ResnetOptions options_;
  Conv2D conv1_;
  BatchNorm2D bn1_;
  std::vector<Sequential> stages_;
  std::optional<Dense> fc_;
};

}  // namespace

Model resnet18(std::int64_t classes, const ResnetOptions& options) {
  return Resnet::make<BasicBlock>({2, 2, 2, 2}, classes, options);
}
Model resnet50(std::int64_t classes, const ResnetOptions& options) {
  return Resnet::make<Bottleneck>({3, 4, 6, 3}, classes, options);
}

}  // namespace plimsoll::nn
