#pragma once

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/module.h>

namespace plimsoll::nn {

struct AttentionOptions {
  bool causal = false;  ///< hides keys behind their query, the last of both aligned
  double scale = 0;     ///< of the scores; 0: 1 / sqrt(size)
  /// bool [n, keys]: which keys count. PyTorch's key_padding_mask is the opposite. A query without
  /// any key gives zeros, as in PyTorch's scaled_dot_product_attention.
  Tensor key_mask = {};
  /// Added to the scores, which are [n, heads, queries, keys]; broadcast to that. Gradients flow.
  /// -inf hides a key, and a query whose whole row is -inf gives zeros.
  Tensor bias = {};
  /// A query sees only keys that are fewer than this many places away, the last of both aligned:
  /// with `causal` itself and the window - 1 before it. 0: all.
  std::int64_t window = 0;
};

/// softmax(q kᵀ scale + bias) v over q [n, heads, queries, size], k and v [n, key heads, keys,
/// size]. Fewer key heads than heads, which they must divide, serve as many heads each. Without a
/// bias it is ops::attention and never has the matrix of scores. With one it does, in f32, which
/// takes 4 * n * heads * queries * keys bytes and more for gradients; so does a mask in 16 bits
/// for more than 384 tokens, for heads of other sizes than 32 and 64, and for fewer key heads. With
/// a window and without a bias it has them for blocks of queries and the keys these may see: of as
/// many queries as the window, 64 at least, and 32 blocks at most. InvalidArgument for shapes that
/// do not fit and a window below 0.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

/// [n, tokens, heads * size] as [n, heads, tokens, size], and back.
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

struct MultiHeadAttentionOptions {
  std::int64_t features = 0;
  std::int64_t heads = 0;  ///< divides `features`
  /// Of keys and of values where they come from elsewhere; 0: `features`.
  std::int64_t key_features = 0;
  std::int64_t value_features = 0;
  bool bias = true;
};

/// Vaswani et al. 2017, with PyTorch's names: in_proj_weight [3 * features, features] (or
/// q_proj_weight, k_proj_weight and v_proj_weight where keys or values have other features),
/// in_proj_bias, out_proj.weight, out_proj.bias. Probabilities are not dropped.
///
/// forward(x) is self-attention; forward_all({query, memory}) takes keys and values from `memory`,
/// and forward_all({query, key, value}) each from its own. All are [n, tokens, features].
class MultiHeadAttention final : public Module {
 public:
  /// InvalidArgument if heads do not divide.
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);
  Tensor forward(const Tensor& x) const override { return attend(x, x, x); }
  Tensors forward_all(const Tensors& inputs) const override;
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionOptions& options = {}) const;

 private:
  bool packed() const;

  MultiHeadAttentionOptions options_;
  Dense out_;
};

}  // namespace plimsoll::nn
