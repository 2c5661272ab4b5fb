#include <plimsoll/nn/attention.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/softmax.h>

namespace plimsoll::nn {
namespace {

bool is_gpt2(const TransformerOptions& options) { return options.style == TransformerStyle::gpt2; }

/// A dense layer of the block; `onto_residual`: its result is added to the residual stream.
Dense block_dense(const TransformerOptions& options, std::int64_t in, std::int64_t out,
                  bool onto_residual) {
  const double deviation = onto_residual && options.residual_deviation > 0
                               ? options.residual_deviation
                               : options.deviation;
  return Dense(out, {.in = in,
                     .transposed = is_gpt2(options),
                     .init = is_gpt2(options) ? Init::normal(deviation)
                                              : Init::truncated_normal(deviation)});
}

LayerNorm norm(const TransformerOptions& options) {
  return LayerNorm({.features = options.features, .epsilon = options.epsilon});
}

std::int64_t hidden(const TransformerOptions& options) {
  return options.hidden == 0 ? 4 * options.features : options.hidden;
}

}  // namespace

SelfAttention::SelfAttention(const TransformerOptions& options)
    : heads_(options.heads),
      causal_(options.causal),
      dropout_(options.dropout),
      qkv_(add(is_gpt2(options) ? "c_attn" : "qkv",
               block_dense(options, options.features, 3 * options.features, false))),
      projection_(add(is_gpt2(options) ? "c_proj" : "proj",
                      block_dense(options, options.features, options.features, true))) {
  if (heads_ < 1 || options.features % heads_ != 0) {
    throw InvalidArgument(fmt::format("[SelfAttention] {} heads do not divide {} features", heads_,
                                      options.features));
  }
}

Tensor SelfAttention::forward(const Tensor& x) const {
  const Tensor rows = ops::self_attention(qkv_(x), {.heads = heads_, .causal = causal_});
  const Tensor y = projection_(rows);
  return training() && dropout_ > 0 ? ops::dropout(y, dropout_) : y;
}

FeedForward::FeedForward(const TransformerOptions& options)
    : gelu_(options.gelu),
      dropout_(options.dropout),
      up_(add(is_gpt2(options) ? "c_fc" : "fc1",
              block_dense(options, options.features, hidden(options), false))),
      down_(add(is_gpt2(options) ? "c_proj" : "fc2",
                block_dense(options, hidden(options), options.features, true))) {}

Tensor FeedForward::forward(const Tensor& x) const {
  const Tensor y = down_(ops::gelu(up_(x), gelu_));
  return training() && dropout_ > 0 ? ops::dropout(y, dropout_) : y;
}

TransformerBlock::TransformerBlock(const TransformerOptions& options)
    : norm1_(add(is_gpt2(options) ? "ln_1" : "norm1", norm(options))),
      attention_(add("attn", SelfAttention(options))),
      norm2_(add(is_gpt2(options) ? "ln_2" : "norm2", norm(options))),
      mlp_(add("mlp", FeedForward(options))) {}

Tensor TransformerBlock::forward(const Tensor& x) const {
  const Tensor y = ops::add(x, attention_(norm1_(x)));
  return ops::add(y, mlp_(norm2_(y)));
}

}  // namespace plimsoll::nn
