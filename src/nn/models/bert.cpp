#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

#include "nn/joined.h"

namespace plimsoll::nn {
namespace {

constexpr double kBertDeviation = 0.02;
/// Columns beside the features for the bias of the head: as many as keep rows aligned.
constexpr std::int64_t kBiasColumns = 8;

Dense bert_dense(std::int64_t in, std::int64_t out) {
  return Dense(out, {.in = in, .init = Init::normal(kBertDeviation)});
}
LayerNorm bert_norm(const BertOptions& options) {
  return LayerNorm({.features = options.features, .epsilon = options.epsilon});
}

/// Words, places and kinds, summed and normalised: forward_all({ids}) or ({ids, kinds}).
class BertEmbeddings final : public Module {
 public:
  explicit BertEmbeddings(const BertOptions& options)
      : options_(options),
        words_(add("word_embeddings",
                   Embedding(options.vocabulary, options.features, kBertDeviation))),
        places_(add("position_embeddings",
                    Embedding(options.context, options.features, kBertDeviation))),
        kinds_(add("token_type_embeddings",
                   Embedding(options.kinds, options.features, kBertDeviation))),
        norm_(add("LayerNorm", bert_norm(options))) {}

  Tensors forward_all(const Tensors& in) const override {
    const Tensor& ids = in.at(0);
    if (ids.rank() != 2 || ids.dim(1) > options_.context) {
      throw InvalidArgument(
          fmt::format("[bert] ids have shape {}; it takes [n, tokens] with at most {} tokens",
                      ids.shape().to_string(), options_.context));
    }
    const Tensor words = words_(ids);
    const auto as_words = [&](const Tensor& x) { return ops::cast(x, words.dtype()); };
    Tensor x = ops::add(words, as_words(ops::slice(places_.weight(), 0, 0, ids.dim(1))));
    x = ops::add(x, in.size() > 1 ? kinds_(in[1]) : as_words(ops::slice(kinds_.weight(), 0, 0, 1)));
    const Tensor y = norm_(x);
    return {training() && options_.dropout > 0 ? ops::dropout(y, options_.dropout) : y};
  }

  const Parameter& table() const { return words_.weight(); }

 private:
  BertOptions options_;
  Embedding words_;
  Embedding places_;
  Embedding kinds_;
  LayerNorm norm_;
};

/// A dense layer whose result is added to what was there, and normalised after that:
/// forward_all({x, beside}).
class BertOutput final : public Module {
 public:
  BertOutput(const BertOptions& options, std::int64_t in)
      : dropout_(options.dropout),
        dense_(add("dense", bert_dense(in, options.features))),
        norm_(add("LayerNorm", bert_norm(options))) {}
  Tensors forward_all(const Tensors& in) const override {
    Tensor y = dense_(in.at(0));
    if (training() && dropout_ > 0) y = ops::dropout(y, dropout_);
    return {norm_(ops::add(y, in.at(1)))};
  }

 private:
  double dropout_;
  Dense dense_;
  LayerNorm norm_;
};

/// forward_all({x}) or ({x, mask}).
class BertSelfAttention final : public Module {
 public:
  explicit BertSelfAttention(const BertOptions& options)
      : heads_(options.heads),
        query_(add("query", bert_dense(options.features, options.features))),
        key_(add("key", bert_dense(options.features, options.features))),
        value_(add("value", bert_dense(options.features, options.features))) {}
  Tensors forward_all(const Tensors& in) const override {
    return {attention_within(joined(in.at(0), {&query_, &key_, &value_}), heads_, heads_,
                             {.key_mask = in.size() > 1 ? in[1] : Tensor()})};
  }

 private:
  std::int64_t heads_;
  Dense query_;
  Dense key_;
  Dense value_;
};

class BertAttention final : public Module {
 public:
  explicit BertAttention(const BertOptions& options)
      : self_(add("self", BertSelfAttention(options))),
        output_(add("output", BertOutput(options, options.features))) {}
  Tensors forward_all(const Tensors& in) const override {
    return output_(Tensors{self_(in).front(), in.at(0)});
  }

 private:
  BertSelfAttention self_;
  BertOutput output_;
};

/// A dense layer and gelu.
class BertIntermediate final : public Module {
 public:
  BertIntermediate(std::int64_t in, std::int64_t out) : dense_(add("dense", bert_dense(in, out))) {}
  Tensor forward(const Tensor& x) const override { return ops::gelu(dense_(x)); }

 private:
  Dense dense_;
};

class BertLayer final : public Module {
 public:
  explicit BertLayer(const BertOptions& options)
      : attention_(add("attention", BertAttention(options))),
        intermediate_(add("intermediate", BertIntermediate(options.features, options.hidden))),
        output_(add("output", BertOutput(options, options.hidden))) {}
  Tensors forward_all(const Tensors& in) const override {
    const Tensor x = attention_(in).front();
    return output_(Tensors{intermediate_(x), x});
  }

 private:
  BertAttention attention_;
  BertIntermediate intermediate_;
  BertOutput output_;
};

class BertEncoder final : public Module {
 public:
  explicit BertEncoder(const BertOptions& options) : layers_(add("layer", Sequential())) {
    for (std::int64_t i = 0; i < options.layers; ++i) layers_.append(BertLayer(options));
  }
  Tensors forward_all(const Tensors& in) const override {
    Tensors all = in;
    for (const auto& layer : layers_.children()) all[0] = (*layer)(all).front();
    return {all[0]};
  }

 private:
  Sequential layers_;
};

/// forward_all({ids}), ({ids, mask}) or ({ids, mask, kinds}): [n, tokens, features].
class BertBody final : public Module {
 public:
  explicit BertBody(const BertOptions& options)
      : options_(options),
        embeddings_(add("embeddings", BertEmbeddings(options))),
        encoder_(add("encoder", BertEncoder(options))) {}
  Tensors forward_all(const Tensors& in) const override {
    Tensors words = {in.at(0)};
    if (in.size() > 2) words.push_back(in[2]);
    Tensors all = {embeddings_(words).front()};
    if (in.size() > 1) {
      all.push_back(ops::cast(in[1], DType::boolean));
    } else if (options_.padding_id >= 0) {
      const Tensor padding =
          ops::full_like_type(in[0], {in[0].dtype(), {}}, static_cast<double>(options_.padding_id));
      all.push_back(ops::not_equal(in[0], padding));
    }
    return encoder_(all);
  }
  const Parameter& table() const { return embeddings_.table(); }

 private:
  BertOptions options_;
  BertEmbeddings embeddings_;
  BertEncoder encoder_;
};

class BertTransform final : public Module {
 public:
  explicit BertTransform(const BertOptions& options)
      : dense_(add("dense", bert_dense(options.features, options.features))),
        norm_(add("LayerNorm", bert_norm(options))) {}
  Tensor forward(const Tensor& x) const override { return norm_(ops::gelu(dense_(x))); }

 private:
  Dense dense_;
  LayerNorm norm_;
};

class BertPredictions final : public Module {
 public:
  explicit BertPredictions(const BertOptions& options)
      : transform_(add("transform", BertTransform(options))),
        bias_(parameter("bias", {options.vocabulary}, Init::zeros())) {}
  Tensor forward(const Tensor& x) const override { return transform_(x); }
  const Parameter& bias() const { return bias_; }

 private:
  BertTransform transform_;
  Parameter bias_;
};

class BertHead final : public Module {
 public:
  explicit BertHead(const BertOptions& options)
      : predictions_(add("predictions", BertPredictions(options))) {}
  Tensor forward(const Tensor& x) const override { return predictions_(x); }
  const Parameter& bias() const { return predictions_.bias(); }

 private:
  BertPredictions predictions_;
};

/// For masked words; the head is the embedding's transpose.
class Bert final : public Classifier {
 public:
  explicit Bert(const BertOptions& options)
      : options_(options),
        body_(add("bert", BertBody(options))),
        head_(add("cls", BertHead(options))) {}

  TensorType input_type(std::int64_t n) const override {
    return {DType::i64, {n, options_.context}};
  }
  TensorType target_type(std::int64_t n) const override { return input_type(n); }

  Tensors forward_all(const Tensors& in) const override {
    if (in.empty() || in.size() > 3) {
      throw InvalidArgument(
          fmt::format("[bert] {} inputs; it takes ids, a mask of the tokens that "
                      "count, and their kinds",
                      in.size()));
    }
    return {ops::linear(head_(body_(in).front()), body_.table(), head_.bias())};
  }
  Tensor loss(const Tensor& ids, const Tensor& labels) const override {
    return loss_all({ids}, {labels});
  }
  /// Never has whole logits: the bias is one more column of the head, and 1 one more feature.
  Tensor loss_all(const Tensors& in, const Tensors& labels) const override {
    const Tensor x = head_(body_(in).front());
    const Shape rows{labels.at(0).elements(), options_.features};
    const Tensor flat = ops::reshape(x, rows);
    const Tensor one = ops::full_like_type(flat, {flat.dtype(), {rows[0], 1}}, 1);
    const Tensor bias = ops::reshape(head_.bias(), Shape{options_.vocabulary, 1});
    const std::vector<std::int64_t> before = {0, 0};
    const std::vector<std::int64_t> after = {0, kBiasColumns - 1};
    return ops::linear_cross_entropy(
        ops::concat({flat, ops::pad(one, before, after)}, 1),
        ops::concat(
            {in_compute_dtype(body_.table()), in_compute_dtype(ops::pad(bias, before, after))}, 1),
        ops::reshape(labels[0], Shape{rows[0]}));
  }

 private:
  BertOptions options_;
  BertBody body_;
  BertHead head_;
};

}  // namespace

Model bert(const BertOptions& options) {
  if (options.heads < 1 || options.features % options.heads != 0) {
    throw InvalidArgument(
        fmt::format("[bert] {} heads do not divide {} features", options.heads, options.features));
  }
  return Bert(options);
}

}  // namespace plimsoll::nn
