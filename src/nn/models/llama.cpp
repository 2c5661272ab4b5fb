#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/rope.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/nn/transformer.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

#include "nn/joined.h"

namespace plimsoll::nn {
namespace {

constexpr double kLlamaDeviation = 0.02;

Dense llama_dense(std::int64_t in, std::int64_t out) {
  return Dense(out, {.in = in, .bias = false, .init = Init::normal(kLlamaDeviation)});
}

RMSNorm llama_norm(const LlamaOptions& options) {
  return RMSNorm({.features = options.features, .epsilon = options.epsilon});
}

/// Causal, positions turned into queries and keys: forward_all({x, cosines, sines}).
class LlamaAttention final : public Module {
 public:
  explicit LlamaAttention(const LlamaOptions& options)
      : options_(options),
        size_(options.features / options.heads),
        q_(add("q_proj", llama_dense(options.features, options.heads * size_))),
        k_(add("k_proj", llama_dense(options.features, options.key_heads * size_))),
        v_(add("v_proj", llama_dense(options.features, options.key_heads * size_))),
        o_(add("o_proj", llama_dense(options.heads * size_, options.features))) {}

  Tensors forward_all(const Tensors& in) const override {
    const Tensor qkv = joined(in.at(0), {&q_, &k_, &v_});
    // Values, the last heads of each row, are not turned.
    const Tensor turned = rope(qkv, RopeTables{in.at(1), in.at(2)},
                               {.size = size_, .heads = options_.heads + options_.key_heads});
    return {o_(attention_within(turned, options_.heads, options_.key_heads, {.causal = true}))};
  }

 private:
  LlamaOptions options_;
  std::int64_t size_;
  Dense q_;
  Dense k_;
  Dense v_;
  Dense o_;
};

class LlamaLayer final : public Module {
 public:
  explicit LlamaLayer(const LlamaOptions& options)
      : attention_(add("self_attn", LlamaAttention(options))),
        mlp_(add("mlp", GatedFeedForward(options.features, options.hidden))),
        norm1_(add("input_layernorm", llama_norm(options))),
        norm2_(add("post_attention_layernorm", llama_norm(options))) {}

  Tensors forward_all(const Tensors& in) const override {
    const Tensor mixed = attention_(Tensors{norm1_(in.at(0)), in.at(1), in.at(2)}).front();
    const Tensor y = ops::add(in[0], mixed);
    return {ops::add(y, mlp_(norm2_(y)))};
  }

 private:
  LlamaAttention attention_;
  GatedFeedForward mlp_;
  RMSNorm norm1_;
  RMSNorm norm2_;
};

/// Everything but the head: ids [n, tokens] to [n, tokens, features].
class LlamaBody final : public Module {
 public:
  explicit LlamaBody(const LlamaOptions& options)
      : options_(options),
        tokens_(
            add("embed_tokens", Embedding(options.vocabulary, options.features, kLlamaDeviation))),
        layers_(add("layers", Sequential())),
        norm_(add("norm", llama_norm(options))) {
    for (std::int64_t i = 0; i < options.layers; ++i) layers_.append(LlamaLayer(options));
  }

  Tensor forward(const Tensor& ids) const override {
    if (ids.rank() != 2 || ids.dim(1) > options_.context) {
      throw InvalidArgument(
          fmt::format("[llama] ids have shape {}; it takes [n, tokens] with at most {} tokens",
                      ids.shape().to_string(), options_.context));
    }
    Tensor x = tokens_(ids);
    const RopeTables tables =
        rope_tables(x, ids.dim(1), options_.features / options_.heads, options_.theta);
    const ops::NameScope scope("layers");
    for (const auto& layer : layers_.children()) {
      x = (*layer)(Tensors{x, tables.cos, tables.sin}).front();
    }
    return norm_(x);
  }

  const Parameter& table() const { return tokens_.weight(); }

 private:
  LlamaOptions options_;
  Embedding tokens_;
  Sequential layers_;
  RMSNorm norm_;
};

class Llama final : public Classifier {
 public:
  explicit Llama(const LlamaOptions& options)
      : options_(options), body_(add("model", LlamaBody(options))) {
    if (!options.tied) head_ = add("lm_head", llama_dense(options.features, options.vocabulary));
  }

  TensorType input_type(std::int64_t n) const override {
    return {DType::i64, {n, options_.context}};
  }
  TensorType target_type(std::int64_t n) const override { return input_type(n); }

  Tensor forward(const Tensor& ids) const override { return ops::linear(body_(ids), weight()); }

  Tensor loss(const Tensor& ids, const Tensor& next) const override {
    const Tensor x = body_(ids);
    return ops::linear_cross_entropy(ops::reshape(x, Shape{next.elements(), options_.features}),
                                     weight(), ops::reshape(next, Shape{next.elements()}));
  }

 private:
  const Parameter& weight() const { return head_ ? head_->weight() : body_.table(); }

  LlamaOptions options_;
  LlamaBody body_;
  std::optional<Dense> head_;
};

}  // namespace

Model llama(const LlamaOptions& options) {
  if (options.heads < 1 || options.key_heads < 1 || options.features % options.heads != 0 ||
      options.heads % options.key_heads != 0 || options.features / options.heads % 2 != 0) {
    throw InvalidArgument(
        fmt::format("[llama] {} heads over {} key heads of {} features; key heads must divide "
                    "heads, and those the features, into parts of even size",
                    options.heads, options.key_heads, options.features));
  }
  return Llama(options);
}

}  // namespace plimsoll::nn
