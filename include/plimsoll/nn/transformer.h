#pragma once

#include <plimsoll/nn/activations.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/multi_head_attention.h>
#include <plimsoll/nn/normalization.h>

// The layers of Vaswani et al. 2017 with PyTorch's names and defaults (self_attn, linear1, norm1,
// ...; normalised after the sum unless `norm_first`), for x [n, tokens, features]. PyTorch also
// drops attention's probabilities, which are never whole here: `dropout` acts on the results of
// attention, on the hidden features and on what comes of them.

namespace plimsoll::nn {

struct TransformerLayerOptions {
  std::int64_t features = 0;
  std::int64_t heads = 0;  ///< divides `features`
  std::int64_t hidden = 2048;
  double dropout = 0.1;
  enum class Activation : std::uint8_t { relu, gelu };
  Activation activation = Activation::relu;
  bool norm_first = false;
  double epsilon = 1e-5;
};

/// Attention among tokens, then two dense layers. forward_all({x, mask}) with a bool mask [n,
/// tokens] leaves out the tokens for which it is false.
class TransformerEncoderLayer final : public Module {
 public:
  explicit TransformerEncoderLayer(const TransformerLayerOptions& options);
  Tensor forward(const Tensor& x) const override { return encode(x, {}); }
  Tensors forward_all(const Tensors& inputs) const override;
  Tensor encode(const Tensor& x, const AttentionOptions& attention) const;

 private:
  TransformerLayerOptions options_;
  MultiHeadAttention attention_;
  Dense up_;
  Dense down_;
  LayerNorm norm1_;
  LayerNorm norm2_;
};

/// Causal attention among tokens, attention to `memory`, then two dense layers: forward_all({x,
/// memory}), or ({x, memory, mask}) with a bool mask [n, tokens of the memory].
class TransformerDecoderLayer final : public Module {
 public:
  explicit TransformerDecoderLayer(const TransformerLayerOptions& options);
  Tensors forward_all(const Tensors& inputs) const override;

 private:
  TransformerLayerOptions options_;
  MultiHeadAttention attention_;
  MultiHeadAttention to_memory_;
  Dense up_;
  Dense down_;
  LayerNorm norm1_;
  LayerNorm norm2_;
  LayerNorm norm3_;
};

/// down(silu(gate(x)) * up(x)), Shazeer 2020, without biases: llama's names gate_proj, up_proj,
/// down_proj.
class GatedFeedForward final : public Module {
 public:
  GatedFeedForward(std::int64_t features, std::int64_t hidden, Gate gate = Gate::silu,
                   double deviation = 0.02);
  Tensor forward(const Tensor& x) const override;

 private:
  Gate gate_kind_;
  Dense gate_;
  Dense up_;
  Dense down_;
};

}  // namespace plimsoll::nn
