#pragma once

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

/// Labels that do not count.
inline constexpr std::int64_t kIgnoreLabel = -100;

/// The cross-entropy of each row of logits [..., classes] with its label [...] (i32 or i64), in f32
/// (f64 for f64): [...]. Rows labelled kIgnoreLabel give 0; other labels outside the classes are
/// an InvalidArgument. `smoothing` takes that share from the label and spreads it over all classes.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing = 0);
/// The same with a distribution over the classes for each row, of the logits' shape and dtype.
Tensor cross_entropy_dense(const Tensor& logits, const Tensor& targets);

/// cross_entropy(linear(x, weight), labels) for x [tokens, features] and weight [classes,
/// features], summed over the tokens that count and divided by their number (at least one): a
/// scalar in f32. The logits are never whole: head, loss and both gradients go through chunks of
/// tokens, whose number is fixed by the shape. `x` and `weight` have one dtype.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& labels);

/// softmax(q kᵀ · scale) v over q [..., heads, queries, size], k and v [..., heads, keys, size]
/// without the whole matrix of scores. Keys and values may have fewer heads than queries, which
/// they must divide: each serves as many heads that follow each other. A query that sees no key
/// gives zeros. Throws InvalidArgument.
struct AttentionOptions {
  bool causal = false;  ///< hides keys behind their query, the last of both aligned
  double scale = 0;     ///< 0: 1/sqrt(size)
  bool tf32 = false;    ///< f32 factors may be rounded to TF32 on a GPU; see ops/tf32.h
  /// bool [..., keys], where k has [..., heads, keys, size]: which keys count. Undefined: all.
  Tensor key_mask = {};
};
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

/// The same among tokens, on q, k and v as one product gives them: qkv [n, tokens, (heads + 2 * key
/// heads) * size] has all heads' queries, then their keys, then their values in each token's row.
/// The result is [n, tokens, heads * size]. Nothing is brought into another order on the way.
struct SelfAttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;
  double scale = 0;
  bool tf32 = false;           ///< as AttentionOptions::tf32
  std::int64_t key_heads = 0;  ///< of keys and values, which divide `heads`; 0: as many
  Tensor key_mask = {};        ///< bool [n, tokens]: which keys count. Undefined: all.
};
Tensor self_attention(const Tensor& qkv, const SelfAttentionOptions& options);

}  // namespace plimsoll::ops
