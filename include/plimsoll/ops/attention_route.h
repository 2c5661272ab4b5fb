#pragma once

#include <string>

#include <plimsoll/ops/attention_chunks.h>

namespace plimsoll::ops {

/// Which kernels of a GPU compute attention or its gradient: a function of shape and dtype, the
/// same for plans and for the backend. Where the library turns out to have no plan for a shape, the
/// backend says so, and takes kernels for few tokens or plain ones.
enum class AttentionRoute : std::uint8_t {
  products,    ///< matrix products with softmax between them, in chunks
  fused,       ///< the library's, in one kernel
  few_tokens,  ///< our own, a head in shared memory
  plain,       ///< our own for everything: many times slower
};

/// `more`: the logarithms of sums also have a gradient.
inline AttentionRoute attention_route(const AttentionShape& shape, DType dtype, bool grad,
                                      bool more = false) {
  const AttentionShape apart = with_heads_apart(shape);
  if (chunked_attention(apart, dtype)) return AttentionRoute::products;
  if (grad && short_attention(shape, dtype, true)) return AttentionRoute::few_tokens;
  if (grad ? fused_attention_grad(apart, dtype) && !more : fused_attention(shape, dtype)) {
    return AttentionRoute::fused;
  }
  return short_attention(shape, dtype, grad) ? AttentionRoute::few_tokens : AttentionRoute::plain;
}

/// Scores from which on slow kernels are worth a word.
inline constexpr std::int64_t kManyScores = std::int64_t{1} << 20;

/// What would bring a shape with a plain route to faster kernels.
inline std::string attention_remedy(const AttentionShape& s, DType dtype, bool more) {
  if (dtype == DType::f32 || dtype == DType::f64) return "use at least as many keys as queries";
  if (s.size != s.value_size) return "give keys and values one size";
  if (s.mask_batches > 0) {
    return s.group == 1
               ? "use heads of 32 or 64 elements and at most 384 tokens, or no mask of keys"
               : "use as many heads of keys as of queries, or no mask of keys";
  }
  if (s.size % 8 != 0 || s.size > 128) return "use heads of 8 to 128 elements in steps of 8";
  if (more) return "let the loss not depend on the logarithms of sums";
  if (s.causal && s.queries != s.keys) return "use as many queries as keys, or no causal mask";
  if (s.scale <= 0) return "use a scale above zero";
  if (s.size < 64 && std::max(s.queries, s.keys) <= kShortTokens) return "use heads of 64 elements";
  return "use at least 16 queries and keys";
}

}  // namespace plimsoll::ops
