#pragma once

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/ops/elementwise.h>

namespace plimsoll::nn {

/// Whose names, and which way weights lie: timm's vision transformers (norm1, attn.qkv, attn.proj,
/// mlp.fc1), or GPT-2's (ln_1, attn.c_attn, attn.c_proj, mlp.c_fc; weights [in, out]).
enum class TransformerStyle : std::uint8_t { timm, gpt2 };

struct TransformerOptions {
  std::int64_t features = 0;
  std::int64_t heads = 0;   ///< divides `features`
  std::int64_t hidden = 0;  ///< of the feed-forward part; 0: four times the features
  bool causal = false;
  /// After the two projections back to `features`. Attention's probabilities are never whole and
  /// are not dropped.
  double dropout = 0;
  double epsilon = 1e-5;
  ops::Gelu gelu = ops::Gelu::exact;
  TransformerStyle style = TransformerStyle::timm;
  /// Weights start truncated normal with this deviation; the two projections onto the residual
  /// stream with `residual_deviation`, if it is given.
  double deviation = 0.02;
  double residual_deviation = 0;
};

/// Self-attention over x [n, tokens, features]. Throws InvalidArgument if heads do not divide.
class SelfAttention final : public Module {
 public:
  explicit SelfAttention(const TransformerOptions& options);
  Tensor forward(const Tensor& x) const override;

 private:
  std::int64_t heads_;
  bool causal_;
  double dropout_;
  Dense qkv_;
  Dense projection_;
};

/// Two dense layers with gelu between them.
class FeedForward final : public Module {
 public:
  explicit FeedForward(const TransformerOptions& options);
  Tensor forward(const Tensor& x) const override;

 private:
  ops::Gelu gelu_;
  double dropout_;
  Dense up_;
  Dense down_;
};

/// x + attention(norm(x)), then the same with the feed-forward part: "pre-norm".
class TransformerBlock final : public Module {
 public:
  explicit TransformerBlock(const TransformerOptions& options);
  Tensor forward(const Tensor& x) const override;

 private:
  LayerNorm norm1_;
  SelfAttention attention_;
  LayerNorm norm2_;
  FeedForward mlp_;
};

}  // namespace plimsoll::nn
