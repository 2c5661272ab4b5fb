#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

namespace plimsoll::nn {
namespace {

/// Everything but the head: ids [n, tokens] to [n, tokens, features].
class Gpt2Body final : public Module {
 public:
  explicit Gpt2Body(const Gpt2Options& options)
      : options_(options),
        tokens_(add("wte", Embedding(options.vocabulary, options.features, 0.02))),
        positions_(add("wpe", Embedding(options.context, options.features, 0.02))),
        blocks_(add("h", Sequential())),
        norm_(add("ln_f", LayerNorm({.features = options.features}))) {
    for (std::int64_t i = 0; i < options.layers; ++i) {
      blocks_.append(TransformerBlock(
          {.features = options.features,
           .heads = options.heads,
           .causal = true,
           .dropout = options.dropout,
           .gelu = ops::Gelu::tanh,
           .style = TransformerStyle::gpt2,
           .residual_deviation = 0.02 / std::sqrt(2.0 * static_cast<double>(options.layers))}));
    }
  }

  Tensor forward(const Tensor& ids) const override {
    if (ids.rank() != 2 || ids.dim(1) > options_.context) {
      throw InvalidArgument(
          fmt::format("[gpt2] ids have shape {}; it takes [n, tokens] with at "
                      "most {} tokens",
                      ids.shape().to_string(), options_.context));
    }
    const Tensor& table = positions_.weight();
    const Tensor positions =
        ids.dim(1) == options_.context ? table : ops::slice(table, 0, 0, ids.dim(1));
    const Tensor words = tokens_(ids);
    Tensor x = ops::add(words, ops::cast(positions, words.dtype()));
    if (training() && options_.dropout > 0) x = ops::dropout(x, options_.dropout);
    return norm_(blocks_(x));
  }

  const Parameter& table() const { return tokens_.weight(); }

 private:
  Gpt2Options options_;
  Embedding tokens_;
  Embedding positions_;
  Sequential blocks_;
  LayerNorm norm_;
};

class Gpt2 final : public Classifier {
 public:
  explicit Gpt2(const Gpt2Options& options)
      : options_(options), body_(add("transformer", Gpt2Body(options))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::i64, {n, options_.context}};
  }
  TensorType target_type(std::int64_t n) const override { return input_type(n); }

  Tensor forward(const Tensor& ids) const override {
    return ops::linear(body_(ids), body_.table());
  }

  Tensor loss(const Tensor& ids, const Tensor& next) const override {
    const Tensor x = body_(ids);
    return ops::linear_cross_entropy(ops::reshape(x, Shape{next.elements(), options_.features}),
                                     body_.table(), ops::reshape(next, Shape{next.elements()}));
  }

 private:
  Gpt2Options options_;
  Gpt2Body body_;
};

}  // namespace

Model gpt2(const Gpt2Options& options) { return Gpt2(options); }
Model gpt2_tiny() { return make_model("gpt2_tiny"); }

}  // namespace plimsoll::nn
