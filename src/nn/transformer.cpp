#include <plimsoll/nn/transformer.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/gated.h>
#include <plimsoll/ops/normalize.h>

#include "nn/joined.h"

namespace plimsoll::nn {
namespace {

MultiHeadAttention attention_of(const TransformerLayerOptions& options) {
  return MultiHeadAttention({.features = options.features, .heads = options.heads});
}
Dense dense(std::int64_t in, std::int64_t out) { return Dense(out, {.in = in}); }
LayerNorm norm_of(const TransformerLayerOptions& options) {
  return LayerNorm({.features = options.features, .epsilon = options.epsilon});
}

Tensor activated(const Tensor& x, const TransformerLayerOptions& options) {
  return options.activation == TransformerLayerOptions::Activation::relu ? ops::relu(x)
                                                                         : ops::gelu(x);
}

/// x plus what `part` makes of it, normalised before or after.
template <typename Part>
Tensor residual(const Tensor& x, const LayerNorm& norm, bool norm_first, const Part& part) {
  return norm_first ? ops::add(x, part(norm(x))) : norm(ops::add(x, part(x)));
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& options)
    : options_(options),
      attention_(add("self_attn", attention_of(options))),
      up_(add("linear1", dense(options.features, options.hidden))),
      down_(add("linear2", dense(options.hidden, options.features))),
      norm1_(add("norm1", norm_of(options))),
      norm2_(add("norm2", norm_of(options))) {}

Tensors TransformerEncoderLayer::forward_all(const Tensors& inputs) const {
  if (inputs.empty() || inputs.size() > 2) {
    throw InvalidArgument(
        fmt::format("[TransformerEncoderLayer] {} inputs; it takes x, or x and a "
                    "mask of the tokens that count",
                    inputs.size()));
  }
  return {encode(inputs[0], {.key_mask = inputs.size() > 1 ? inputs[1] : Tensor()})};
}

Tensor TransformerEncoderLayer::encode(const Tensor& x, const AttentionOptions& attention) const {
  const auto dropped = [&](const Tensor& y) {
    return training() && options_.dropout > 0 ? ops::dropout(y, options_.dropout) : y;
  };
  const Tensor y = residual(x, norm1_, options_.norm_first, [&](const Tensor& z) {
    return dropped(attention_.attend(z, z, z, attention));
  });
  return residual(y, norm2_, options_.norm_first, [&](const Tensor& z) {
    return dropped(down_(dropped(activated(up_(z), options_))));
  });
}

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerLayerOptions& options)
    : options_(options),
      attention_(add("self_attn", attention_of(options))),
      to_memory_(add("multihead_attn", attention_of(options))),
      up_(add("linear1", dense(options.features, options.hidden))),
      down_(add("linear2", dense(options.hidden, options.features))),
      norm1_(add("norm1", norm_of(options))),
      norm2_(add("norm2", norm_of(options))),
      norm3_(add("norm3", norm_of(options))) {}

Tensors TransformerDecoderLayer::forward_all(const Tensors& inputs) const {
  if (inputs.size() < 2 || inputs.size() > 3) {
    throw InvalidArgument(
        fmt::format("[TransformerDecoderLayer] {} inputs; it takes x and memory, "
                    "and a mask of the memory's tokens that count",
                    inputs.size()));
  }
  const Tensor& memory = inputs[1];
  const AttentionOptions masked = {.key_mask = inputs.size() > 2 ? inputs[2] : Tensor()};
  const auto dropped = [&](const Tensor& y) {
    return training() && options_.dropout > 0 ? ops::dropout(y, options_.dropout) : y;
  };
  Tensor y = residual(inputs[0], norm1_, options_.norm_first, [&](const Tensor& z) {
    return dropped(attention_.attend(z, z, z, {.causal = true}));
  });
  y = residual(y, norm2_, options_.norm_first, [&](const Tensor& z) {
    return dropped(to_memory_.attend(z, memory, memory, masked));
  });
  return {residual(y, norm3_, options_.norm_first, [&](const Tensor& z) {
    return dropped(down_(dropped(activated(up_(z), options_))));
  })};
}

GatedFeedForward::GatedFeedForward(std::int64_t features, std::int64_t hidden, Gate gate,
                                   double deviation)
    : gate_kind_(gate),
      gate_(add("gate_proj",
                Dense(hidden, {.in = features, .bias = false, .init = Init::normal(deviation)}))),
      up_(add("up_proj",
              Dense(hidden, {.in = features, .bias = false, .init = Init::normal(deviation)}))),
      down_(add("down_proj",
                Dense(features, {.in = hidden, .bias = false, .init = Init::normal(deviation)}))) {}

Tensor GatedFeedForward::forward(const Tensor& x) const {
  return down_(ops::glu(joined(x, {&up_, &gate_}), gate_kind_));
}

}  // namespace plimsoll::nn
