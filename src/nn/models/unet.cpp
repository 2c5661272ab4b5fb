#include <array>
#include <optional>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

constexpr int kLevels = 4;

/// Twice: 3x3 convolution, normalisation, relu.
class DoubleConv final : public Module {
 public:
  DoubleConv(std::int64_t in, std::int64_t out) : body_(add("double_conv", Sequential())) {
    for (const std::int64_t from : {in, out}) {
      body_.append(Conv2D(
          out, 3, {.in = from, .padding = 1, .bias = false, .init = Init::he_normal(from * 9)}));
      body_.append(BatchNorm2D({.channels = out}));
      body_.append(ReLU());
    }
  }
  Tensor forward(const Tensor& x) const override { return body_(x); }

 private:
  Sequential body_;
};

class Down final : public Module {
 public:
  Down(std::int64_t in, std::int64_t out) : body_(add("maxpool_conv", Sequential())) {
    body_.append(MaxPool2D(2));
    body_.append(DoubleConv(in, out));
  }
  Tensor forward(const Tensor& x) const override { return body_(x); }

 private:
  Sequential body_;
};

/// Twice as large with half the channels, beside what the way down had at this size.
class Up final : public Module {
 public:
  Up(std::int64_t in, std::int64_t out)
      : up_(add("up", ConvTranspose2D(in / 2, 2, {.in = in}))),
        conv_(add("conv", DoubleConv(in, out))) {}
  Tensor forward(const Tensor& x) const override { return up_(x); }
  Tensor joined(const Tensor& x, const Tensor& beside) const {
    const ops::NameScope scope(name());
    return conv_(ops::concat({beside, up_(x)}, 1));
  }

 private:
  ConvTranspose2D up_;
  DoubleConv conv_;
};

class OutConv final : public Module {
 public:
  OutConv(std::int64_t in, std::int64_t out) : conv_(add("conv", Conv2D(out, 1, {.in = in}))) {}
  Tensor forward(const Tensor& x) const override { return conv_(x); }

 private:
  Conv2D conv_;
};

class Unet final : public Classifier {
 public:
  explicit Unet(const UnetOptions& options)
      : options_(options), in_(add("inc", DoubleConv(options.channels, options.width))) {
    if (options.size < 16 || options.size % 16 != 0) {
      throw InvalidArgument(
          fmt::format("[unet] images of {0}x{0}; the side must be a multiple of 16", options.size));
    }
    std::int64_t width = options.width;
    for (int i = 0; i < kLevels; ++i, width *= 2) {
      down_.push_back(add(fmt::format("down{}", i + 1), Down(width, 2 * width)));
    }
    for (int i = 0; i < kLevels; ++i, width /= 2) {
      up_.push_back(add(fmt::format("up{}", i + 1), Up(width, width / 2)));
    }
    out_ = add("outc", OutConv(options.width, options.classes));
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override {
    return {DType::i64, {n, options_.size, options_.size}};
  }

  Tensor forward(const Tensor& x) const override {
    std::array<Tensor, kLevels> beside;
    Tensor y = in_(x);
    for (std::size_t i = 0; i < kLevels; ++i) {
      beside[i] = y;
      y = down_[i](y);
    }
    for (std::size_t i = 0; i < kLevels; ++i) y = up_[i].joined(y, beside[kLevels - 1 - i]);
    return (*out_)(y);
  }

  Tensor loss(const Tensor& x, const Tensor& labels) const override {
    return cross_entropy(ops::transpose((*this)(x), {0, 2, 3, 1}), labels);
  }

 private:
  UnetOptions options_;
  DoubleConv in_;
  std::vector<Down> down_;
  std::vector<Up> up_;
  std::optional<OutConv> out_;
};

}  // namespace

Model unet(const UnetOptions& options) { return Unet(options); }

}  // namespace plimsoll::nn
