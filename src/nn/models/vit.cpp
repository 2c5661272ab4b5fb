#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

constexpr double kVitEpsilon = 1e-6;

std::int64_t patches(const VitOptions& options) {
  if (options.patch < 1 || options.size < options.patch || options.size % options.patch != 0) {
    throw InvalidArgument(
        fmt::format("[vit] images of {0}x{0} do not divide into patches of {1}x{1}; "
                    "use a multiple of {1}",
                    options.size, options.patch));
  }
  return (options.size / options.patch) * (options.size / options.patch);
}

/// Pictures [n, channels, h, w] as rows of features, one for each patch.
class PatchEmbedding final : public Module {
 public:
  explicit PatchEmbedding(const VitOptions& options)
      : patch_(options.patch),
        projection_(add("proj", Conv2D(options.features, options.patch,
                                       {.in = options.channels,
                                        .stride = options.patch,
                                        .init = Init::fan_in_uniform(
                                            options.channels * options.patch * options.patch)}))) {}

  /// The convolution's windows do not overlap, so that it is one product of matrices.
  Tensor forward(const Tensor& x) const override {
    const std::int64_t n = x.dim(0);
    const std::int64_t channels = x.dim(1);
    const std::int64_t down = x.dim(2) / patch_;
    const std::int64_t across = x.dim(3) / patch_;
    const std::int64_t inner = channels * patch_ * patch_;
    const Tensor windows = ops::transpose(
        ops::reshape(in_compute_dtype(x), Shape{n, channels, down, patch_, across, patch_}),
        {0, 2, 4, 1, 3, 5});
    const Parameter& weight = projection_.weight();
    return ops::linear(ops::reshape(windows, Shape{n, down * across, inner}),
                       ops::reshape(weight, Shape{weight.type().shape[0], inner}),
                       projection_.bias());
  }

 private:
  std::int64_t patch_;
  Conv2D projection_;
};

class Vit final : public Classifier {
 public:
  explicit Vit(const VitOptions& options)
      : options_(options),
        class_token_(parameter("cls_token", {1, 1, options.features}, Init::normal(1e-6))),
        positions_(parameter("pos_embed", {1, patches(options) + 1, options.features},
                             Init::truncated_normal(0.02))),
        patches_(add("patch_embed", PatchEmbedding(options))),
        blocks_(add("blocks", Sequential())),
        norm_(add("norm", LayerNorm({.features = options.features, .epsilon = kVitEpsilon}))),
        head_(
            add("head", Dense(options.classes, {.in = options.features, .init = Init::zeros()}))) {
    for (std::int64_t i = 0; i < options.layers; ++i) {
      blocks_.append(TransformerBlock({.features = options.features,
                                       .heads = options.heads,
                                       .dropout = options.dropout,
                                       .epsilon = kVitEpsilon}));
    }
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::f32, {n, options_.channels, options_.size, options_.size}};
  }
  TensorType target_type(std::int64_t n) const override { return {DType::i64, {n}}; }

  Tensor forward(const Tensor& x) const override {
    const Tensor rows = patches_(x);
    const DType dtype = rows.dtype();
    const Tensor first =
        ops::broadcast_to(ops::cast(class_token_, dtype), Shape{rows.dim(0), 1, options_.features});
    Tensor y = ops::add(ops::concat({first, rows}, 1), ops::cast(positions_, dtype));
    if (training() && options_.dropout > 0) y = ops::dropout(y, options_.dropout);
    // Rows are normalised one by one, so the class's alone is enough.
    y = ops::slice(blocks_(y), 1, 0, 1);
    return head_(norm_(ops::reshape(y, Shape{y.dim(0), options_.features})));
  }

 private:
  VitOptions options_;
  Parameter class_token_;
  Parameter positions_;
  PatchEmbedding patches_;
  Sequential blocks_;
  LayerNorm norm_;
  Dense head_;
};

}  // namespace

Model vit(const VitOptions& options) { return Vit(options); }
Model vit_b16(std::int64_t classes) { return vit({.classes = classes}); }
Model vit_tiny(std::int64_t classes) {
  return vit({.classes = classes, .features = 192, .heads = 3});
}

}  // namespace plimsoll::nn
