#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/nn/vision_models.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

constexpr double kMixerEpsilon = 1e-6;

LayerNorm mixer_norm(std::int64_t features) {
  return LayerNorm({.features = features, .epsilon = kMixerEpsilon});
}

FeedForward mixer_mlp(std::int64_t features, std::int64_t hidden) {
  return FeedForward({.features = features, .hidden = hidden});
}

/// Dense layers across tokens, then across features.
class MixerBlock final : public Module {
 public:
  MixerBlock(std::int64_t tokens, const MixerOptions& options)
      : norm1_(add("norm1", mixer_norm(options.features))),
        tokens_(add("mlp_tokens", mixer_mlp(tokens, options.token_hidden))),
        norm2_(add("norm2", mixer_norm(options.features))),
        channels_(add("mlp_channels", mixer_mlp(options.features, options.feature_hidden))) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor across = tokens_(ops::transpose(norm1_(x), {0, 2, 1}));
    const Tensor y = ops::add(x, ops::transpose(across, {0, 2, 1}));
    return ops::add(y, channels_(norm2_(y)));
  }

 private:
  LayerNorm norm1_;
  FeedForward tokens_;
  LayerNorm norm2_;
  FeedForward channels_;
};

/// Pictures as rows of features, one for each patch.
class Stem final : public Module {
 public:
  explicit Stem(const MixerOptions& options)
      : projection_(add("proj", Conv2D(options.features, options.patch,
                                       {.in = options.channels, .stride = options.patch}))) {}
  Tensor forward(const Tensor& pictures) const override {
    const Tensor y = projection_(pictures);
    return ops::transpose(ops::reshape(y, Shape{y.dim(0), y.dim(1), y.dim(2) * y.dim(3)}),
                          {0, 2, 1});
  }

 private:
  Conv2D projection_;
};

class Mixer final : public Classifier {
 public:
  explicit Mixer(const MixerOptions& options)
      : options_(options),
        stem_(add("stem", Stem(options))),
        blocks_(add("blocks", Sequential())),
        norm_(add("norm", mixer_norm(options.features))),
        head_(add("head", Dense(options.classes, {.in = options.features}))) {
    const std::int64_t side = options.size / options.patch;
    for (std::int64_t i = 0; i < options.layers; ++i)
      blocks_.append(MixerBlock(side * side, options));
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }
  Tensor forward(const Tensor& pictures) const override {
    return head_(ops::mean(norm_(blocks_(stem_(pictures))), {.axes = {1}}));
  }

 private:
  MixerOptions options_;
  Stem stem_;
  Sequential blocks_;
  LayerNorm norm_;
  Dense head_;
};

}  // namespace

Model mixer(const MixerOptions& given) {
  MixerOptions options = given;
  if (options.patch < 1 || options.size < options.patch || options.size % options.patch != 0) {
    throw InvalidArgument(fmt::format(
        "[mixer] images of {0}x{0} do not divide into patches of {1}x{1}; use a multiple of {1}",
        options.size, options.patch));
  }
  if (options.token_hidden == 0) options.token_hidden = options.features / 2;
  if (options.feature_hidden == 0) options.feature_hidden = 4 * options.features;
  return Mixer(options);
}

}  // namespace plimsoll::nn
