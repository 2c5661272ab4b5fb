#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

// Networks that the library does not come with, written as a user would: pictures as they are fed,
// channels first, and a transpose wherever a layer wants them last.

namespace plimsoll::bench {

/// A dense layer, GELU, another dense layer.
class Perceptron final : public nn::Module {
 public:
  Perceptron(std::int64_t features, std::int64_t hidden)
      : up_(add("fc1", nn::Dense(hidden, {.in = features}))),
        down_(add("fc2", nn::Dense(features, {.in = hidden}))) {}
  Tensor forward(const Tensor& x) const override { return down_(ops::gelu(up_(x))); }

 private:
  nn::Dense up_;
  nn::Dense down_;
};

class MixerBlock final : public nn::Module {
 public:
  MixerBlock(std::int64_t tokens, std::int64_t features)
      : norm1_(add("norm1", nn::LayerNorm({.features = features, .epsilon = 1e-6}))),
        tokens_(add("mlp_tokens", Perceptron(tokens, features / 2))),
        norm2_(add("norm2", nn::LayerNorm({.features = features, .epsilon = 1e-6}))),
        channels_(add("mlp_channels", Perceptron(features, 4 * features))) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor across = tokens_(ops::transpose(norm1_(x), {0, 2, 1}));
    const Tensor y = ops::add(x, ops::transpose(across, {0, 2, 1}));
    return ops::add(y, channels_(norm2_(y)));
  }

 private:
  nn::LayerNorm norm1_;
  Perceptron tokens_;
  nn::LayerNorm norm2_;
  Perceptron channels_;
};

/// Pictures of 224 x 224 in 1000 classes.
class PictureModel : public nn::Classifier {
 public:
  TensorType input_type(std::int64_t n) const override { return {DType::f32, {n, 3, 224, 224}}; }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
};

/// MLP-Mixer-B/16 of Tolstikhin et al. 2021.
class Mixer final : public PictureModel {
 public:
  Mixer()
      : stem_(add("stem", nn::Conv2D(768, 16, {.in = 3, .stride = 16}))),
        norm_(add("norm", nn::LayerNorm({.features = 768, .epsilon = 1e-6}))),
        head_(add("head", nn::Dense(1000, {.in = 768}))) {
    for (int i = 0; i < 12; ++i) {
      blocks_.push_back(add(fmt::format("block{}", i), MixerBlock(196, 768)));
    }
  }
  Tensor forward(const Tensor& pictures) const override {
    const Tensor y = stem_(pictures);
    Tensor x = ops::transpose(ops::reshape(y, Shape{y.dim(0), 768, 196}), {0, 2, 1});
    for (const MixerBlock& block : blocks_) x = block(x);
    return head_(ops::mean(norm_(x), {.axes = {1}}));
  }

 private:
  nn::Conv2D stem_;
  nn::LayerNorm norm_;
  nn::Dense head_;
  std::vector<MixerBlock> blocks_;
};

/// A norm over the channels of pictures that have them first.
class ChannelNorm final : public nn::Module {
 public:
  explicit ChannelNorm(std::int64_t channels)
      : norm_(add("norm", nn::LayerNorm({.features = channels, .epsilon = 1e-6}))) {}
  Tensor forward(const Tensor& x) const override {
    return ops::transpose(norm_(ops::transpose(x, {0, 2, 3, 1})), {0, 3, 1, 2});
  }

 private:
  nn::LayerNorm norm_;
};

class ConvNextBlock final : public nn::Module {
 public:
  explicit ConvNextBlock(std::int64_t channels)
      : depthwise_(add("conv_dw", nn::Conv2D(channels, 7,
                                             {.in = channels, .padding = 3, .groups = channels}))),
        norm_(add("norm", nn::LayerNorm({.features = channels, .epsilon = 1e-6}))),
        mlp_(add("mlp", Perceptron(channels, 4 * channels))),
        gamma_(parameter("gamma", {channels}, nn::Init::constant(1e-6))) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor y = mlp_(norm_(ops::transpose(depthwise_(x), {0, 2, 3, 1})));
    const Tensor scaled = ops::mul(y, ops::cast(gamma_, y.dtype()));
    return ops::add(x, ops::transpose(scaled, {0, 3, 1, 2}));
  }

 private:
  nn::Conv2D depthwise_;
  nn::LayerNorm norm_;
  Perceptron mlp_;
  nn::Parameter gamma_;
};

/// ConvNeXt-T of Liu et al. 2022.
class ConvNext final : public PictureModel {
 public:
  ConvNext()
      : stem_(add("stem", nn::Conv2D(96, 4, {.in = 3, .stride = 4}))),
        norm_(add("norm", nn::LayerNorm({.features = 768, .epsilon = 1e-6}))),
        head_(add("head", nn::Dense(1000, {.in = 768}))) {
    layers_.emplace_back(add("stem_norm", ChannelNorm(96)));
    std::int64_t channels = 96;
    int number = 0;
    for (const int blocks : {3, 3, 9, 3}) {
      if (number != 0) {
        layers_.emplace_back(add(fmt::format("down_norm{}", number), ChannelNorm(channels)));
        layers_.emplace_back(add(fmt::format("down{}", number),
                                 nn::Conv2D(2 * channels, 2, {.in = channels, .stride = 2})));
        channels *= 2;
      }
      for (int i = 0; i < blocks; ++i) {
        layers_.emplace_back(
            add(fmt::format("stage{}_block{}", number, i), ConvNextBlock(channels)));
      }
      ++number;
    }
  }
  Tensor forward(const Tensor& pictures) const override {
    Tensor x = stem_(pictures);
    for (const nn::Model& layer : layers_) x = layer(x);
    return head_(norm_(ops::global_avg_pool2d(x)));
  }

 private:
  nn::Conv2D stem_;
  nn::LayerNorm norm_;
  nn::Dense head_;
  std::vector<nn::Model> layers_;
};

/// nullopt if it is none of them.
inline std::optional<nn::Model> zoo_model(const std::string& name) {
  if (name == "mixer_b16") return Mixer();
  if (name == "convnext_t") return ConvNext();
  return std::nullopt;
}

}  // namespace plimsoll::bench
