#include <array>

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

using ops::Layout;

BatchNormOptions norm(Layout layout) { return {.layout = layout}; }

/// Without bias, as a normalisation follows; He's initialisation by what goes out.
Conv2DOptions conv(std::int64_t out, std::int64_t size, std::int64_t stride, Layout layout) {
  return {.stride = stride,
          .padding = size / 2,
          .bias = false,
          .layout = layout,
          .init = Init::he_normal(out * size * size)};
}

const Module* shortcut(Sequential* made, std::int64_t in, std::int64_t out, std::int64_t stride,
                       Layout layout) {
  if (made == nullptr) return nullptr;
  made->append<Conv2D>(in, out, 1, conv(out, 1, stride, layout));
  made->append<BatchNorm2D>(out, norm(layout));
  return made;
}

/// Two convolutions of 3x3.
class BasicBlock final : public Module {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride, Layout layout)
      : conv1_(add<Conv2D>("conv1", in, width, 3, conv(width, 3, stride, layout))),
        bn1_(add<BatchNorm2D>("bn1", width, norm(layout))),
        conv2_(add<Conv2D>("conv2", width, width, 3, conv(width, 3, 1, layout))),
        bn2_(add<BatchNorm2D>("bn2", width, norm(layout))),
        downsample_(shortcut(stride != 1 || in != width ? &add<Sequential>("downsample") : nullptr,
                             in, width, stride, layout)) {}

  Tensor forward(const Tensor& x) const override {
    const Tensor y = bn2_(conv2_(ops::relu(bn1_(conv1_(x)))));
    return ops::relu(ops::add(y, downsample_ != nullptr ? (*downsample_)(x) : x));
  }

 private:
  const Conv2D& conv1_;
  const BatchNorm2D& bn1_;
  const Conv2D& conv2_;
  const BatchNorm2D& bn2_;
  const Module* downsample_;
};

/// 1x1, 3x3, 1x1 with four times the channels; the stride is in the middle, as in torchvision.
class Bottleneck final : public Module {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Layout layout)
      : conv1_(add<Conv2D>("conv1", in, width, 1, conv(width, 1, 1, layout))),
        bn1_(add<BatchNorm2D>("bn1", width, norm(layout))),
        conv2_(add<Conv2D>("conv2", width, width, 3, conv(width, 3, stride, layout))),
        bn2_(add<BatchNorm2D>("bn2", width, norm(layout))),
        conv3_(add<Conv2D>("conv3", width, 4 * width, 1, conv(4 * width, 1, 1, layout))),
        bn3_(add<BatchNorm2D>("bn3", 4 * width, norm(layout))),
        downsample_(
            shortcut(stride != 1 || in != 4 * width ? &add<Sequential>("downsample") : nullptr, in,
                     4 * width, stride, layout)) {}

  Tensor forward(const Tensor& x) const override {
    Tensor y = ops::relu(bn1_(conv1_(x)));
    y = bn3_(conv3_(ops::relu(bn2_(conv2_(y)))));
    return ops::relu(ops::add(y, downsample_ != nullptr ? (*downsample_)(x) : x));
  }

 private:
  const Conv2D& conv1_;
  const BatchNorm2D& bn1_;
  const Conv2D& conv2_;
  const BatchNorm2D& bn2_;
  const Conv2D& conv3_;
  const BatchNorm2D& bn3_;
  const Module* downsample_;
};

class Resnet final : public Model {
 public:
  template <typename Block>
  static std::unique_ptr<Resnet> make(const std::array<int, 4>& blocks, std::int64_t classes,
                                      const ResnetOptions& options) {
    auto net = std::make_unique<Resnet>(options);
    std::int64_t in = 64;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      auto& stage = net->add<Sequential>(fmt::format("layer{}", i + 1));
      const std::int64_t width = std::int64_t{64} << i;
      for (int b = 0; b < blocks[i]; ++b) {
        stage.append<Block>(in, width, b == 0 && i > 0 ? 2 : 1, options.layout);
        in = width * Block::kExpansion;
      }
      net->stages_.push_back(&stage);
    }
    net->fc_ = &net->add<Dense>("fc", in, classes);
    return net;
  }

  explicit Resnet(const ResnetOptions& options)
      : options_(options),
        conv1_(add<Conv2D>("conv1", options.channels, 64, 7, conv(64, 7, 2, options.layout))),
        bn1_(add<BatchNorm2D>("bn1", 64, norm(options.layout))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& pictures) const override {
    const Layout layout = options_.layout;
    const Tensor x = layout == Layout::nhwc
                         ? ops::transpose(in_compute_dtype(pictures), {0, 2, 3, 1})
                         : pictures;
    Tensor y = ops::relu(bn1_(conv1_(x)));
    y = ops::max_pool2d(
        y, {.size = {3, 3}, .stride = {2, 2}, .padding = ops::Padding::all(1), .layout = layout});
    for (const Sequential* stage : stages_) y = (*stage)(y);
    return (*fc_)(ops::global_avg_pool2d(y, layout));
  }

 private:
  ResnetOptions options_;
  const Conv2D& conv1_;
  const BatchNorm2D& bn1_;
  std::vector<const Sequential*> stages_;
  const Dense* fc_ = nullptr;
};

}  // namespace

std::unique_ptr<Model> resnet18(std::int64_t classes, const ResnetOptions& options) {
  return Resnet::make<BasicBlock>({2, 2, 2, 2}, classes, options);
}
std::unique_ptr<Model> resnet50(std::int64_t classes, const ResnetOptions& options) {
  return Resnet::make<Bottleneck>({3, 4, 6, 3}, classes, options);
}

}  // namespace plimsoll::nn
