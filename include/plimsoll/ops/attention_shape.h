#pragma once

#include <algorithm>
#include <cstdint>

#include <plimsoll/ops/op_def.h>

namespace plimsoll::ops {

/// Where the rows of one of attention's matrices are, in elements: that of batch b, head h and
/// token t starts at start + b * batch + h * head + t * row. Its elements follow each other.
struct AttentionLayout {
  std::int64_t start = 0;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

/// The extents of attention and self_attention, read off shapes and attributes. Gradients are laid
/// out as what they are by; the logarithms of sums are [batches, heads, queries].
struct AttentionShape {
  std::int64_t batches = 1;
  std::int64_t heads = 1;  ///< of queries
  std::int64_t group = 1;  ///< of them, so many share a head of keys and values
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t size = 0;        ///< of q and k
  std::int64_t value_size = 0;  ///< of v
  bool causal = false;
  double scale = 1;
  AttentionLayout q;
  AttentionLayout k;
  AttentionLayout v;
  AttentionLayout y;
  bool together = false;  ///< q, k and v are parts of one array's rows
  /// There is a mask of keys, and this many batches share a row of it; 0: there is none.
  std::int64_t mask_batches = 0;

  std::int64_t key_heads() const { return heads / group; }
  /// Batches times heads.
  std::int64_t units() const { return batches * heads; }
  std::int64_t key_units() const { return batches * key_heads(); }
  /// The first element of q or y of unit `u`, which is head u % heads of batch u / heads.
  std::int64_t at(const AttentionLayout& layout, std::int64_t u) const {
    return layout.start + u / heads * layout.batch + u % heads * layout.head;
  }
  /// The same of k or v.
  std::int64_t key_at(const AttentionLayout& layout, std::int64_t u) const {
    return layout.start + u / heads * layout.batch + u % heads / group * layout.head;
  }
  /// The unit's row of the mask.
  std::int64_t mask_row(std::int64_t u) const { return u / heads / mask_batches; }
  /// Keys that query `i` sees: those before this one.
  std::int64_t seen(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }
};

/// The layouts of q, k, v and y [heads, tokens, size] each.
inline void lay_apart(AttentionShape& s) {
  const auto dense = [](std::int64_t heads, std::int64_t tokens, std::int64_t size) {
    return AttentionLayout{0, heads * tokens * size, tokens * size, size};
  };
  s.q = dense(s.heads, s.queries, s.size);
  s.k = dense(s.key_heads(), s.keys, s.size);
  s.v = dense(s.key_heads(), s.keys, s.value_size);
  s.y = dense(s.heads, s.queries, s.value_size);
}

/// Each head of keys, with the queries that read it, as a batch of its own where they lie alike, so
/// that as few as one can be taken at a time.
inline AttentionShape with_heads_apart(AttentionShape s) {
  if (s.together) return s;
  s.mask_batches *= s.key_heads();
  s.batches = s.key_units();
  s.heads = s.group;
  lay_apart(s);
  return s;
}

/// Which input is the mask of keys, the only one that is bool; -1 if there is none.
inline int mask_input(const OpInputs& in) {
  for (int i = 0; i < in.count(); ++i) {
    if (in.dtype(i) == DType::boolean) return i;
  }
  return -1;
}

/// Of attention and attention_grad: q, k, v [..., heads, tokens, size], of which k and v may have
/// fewer heads.
inline AttentionShape attention_shape(const OpInputs& in) {
  const Shape& q = in.shape(0);
  AttentionShape s;
  if (q.rank() > 2) {
    s.heads = q.dim(-3);
    s.group = s.heads / std::max<std::int64_t>(1, in.shape(1).dim(-3));
    s.group = std::max<std::int64_t>(1, s.group);
  }
  for (int i = 0; i < q.rank() - 3; ++i) s.batches *= q[i];
  s.queries = q.dim(-2);
  s.keys = in.shape(1).dim(-2);
  s.size = q.dim(-1);
  s.value_size = in.shape(2).dim(-1);
  s.causal = in.attributes().flag("causal");
  s.scale = in.attributes().number("scale");
  s.mask_batches = mask_input(in) < 0 ? 0 : 1;
  lay_apart(s);
  return s;
}

/// The layouts of rows [tokens, (heads + 2 * key heads) * size], and of results [tokens, heads *
/// size].
inline void lay_together(AttentionShape& s) {
  const std::int64_t row = (s.heads + 2 * s.key_heads()) * s.size;
  const auto part = [&](std::int64_t heads_before) {
    return AttentionLayout{heads_before * s.size, s.queries * row, s.size, row};
  };
  s.q = part(0);
  s.k = part(s.heads);
  s.v = part(s.heads + s.key_heads());
  s.y = {0, s.queries * s.heads * s.size, s.size, s.heads * s.size};
  s.together = true;
}

/// Heads of keys in rows of self_attention.
inline std::int64_t self_attention_key_heads(const Attributes& attributes) {
  return attributes.integer(attributes.has("key_heads") ? "key_heads" : "heads");
}

/// Of self_attention and its gradient: qkv [n, tokens, (heads + 2 * key heads) * size].
inline AttentionShape self_attention_shape(const OpInputs& in) {
  const Shape& qkv = in.shape(0);
  AttentionShape s;
  s.batches = qkv[0];
  s.heads = in.attributes().integer("heads");
  const std::int64_t key_heads = self_attention_key_heads(in.attributes());
  s.group = s.heads / key_heads;
  s.queries = s.keys = qkv[1];
  s.size = s.value_size = qkv[2] / (s.heads + 2 * key_heads);
  s.causal = in.attributes().flag("causal");
  s.scale = in.attributes().number("scale");
  s.mask_batches = mask_input(in) < 0 ? 0 : 1;
  lay_together(s);
  return s;
}

// What a GPU's kernels need, as a function of the shape alone.

/// A head of at most this many queries and keys is in shared memory as a whole, in steps of 16.
inline constexpr std::int64_t kShortTokens = 256;
/// The same with a mask of keys, which no library's kernels take.
inline constexpr std::int64_t kShortMaskedTokens = 384;
inline constexpr int kShortStep = 16;

/// Whether a library's fused kernels are tried: 16 bits, heads of a size they take, no mask of
/// keys, and a causal one whose diagonal begins in the corner. Few tokens of small heads are not
/// worth their blocks, unless our own kernels for few tokens have no gradient.
inline bool fused_attention(const AttentionShape& s, DType dtype) {
  return (dtype == DType::f16 || dtype == DType::bf16) && s.size == s.value_size &&
         s.mask_batches == 0 &&
         (s.size >= 64 || std::max(s.queries, s.keys) > kShortTokens || s.group > 1) &&
         s.size >= 8 && s.size <= 128 && s.size % 8 == 0 && s.queries >= 16 && s.keys >= 16 &&
         (!s.causal || s.queries == s.keys) && s.scale > 0 && s.units() > 0;
}

/// Whether our own kernels for few tokens take the shape, on a device that has the shared memory
/// for them: the gradient's always do, the other where no library is used. They need no workspace.
inline bool short_attention(const AttentionShape& s, DType dtype, bool grad) {
  const std::int64_t most = s.mask_batches > 0 ? kShortMaskedTokens : kShortTokens;
  const auto few = [&](std::int64_t tokens) { return tokens > 0 && tokens <= most; };
  return (dtype == DType::f16 || dtype == DType::bf16) && (s.size == 32 || s.size == 64) &&
         s.size == s.value_size && few(s.queries) && few(s.keys) && (!grad || s.group == 1);
}

/// The library's deterministic gradient works on whole blocks of this many tokens, and reads and
/// writes past the end of what it is given where that is no multiple of it. It then runs on copies
/// to which tokens of zeros are added.
inline constexpr std::int64_t kFusedGradTokens = 256;

inline bool has_whole_blocks(const AttentionShape& s) {
  return s.queries % kFusedGradTokens == 0 && s.keys % kFusedGradTokens == 0;
}

/// The shape that it runs on: with tokens added up to whole blocks, if need be, and then `columns`
/// added to each row of a head.
inline AttentionShape fused_attention_grad_shape(AttentionShape s, std::int64_t columns = 0) {
  if (has_whole_blocks(s)) return s;
  const auto whole = [](std::int64_t tokens) {
    return (tokens + kFusedGradTokens - 1) / kFusedGradTokens * kFusedGradTokens;
  };
  s.queries = whole(s.queries);
  s.keys = whole(s.keys);
  s.size += columns;
  s.value_size += columns;
  s.together ? lay_together(s) : lay_apart(s);
  return s;
}

/// Whether the gradient may be a library's. Rows of a batch's copies are counted in 32 bits.
inline bool fused_attention_grad(const AttentionShape& s, DType dtype) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 26;
  if (!fused_attention(s, dtype)) return false;
  const AttentionShape run = fused_attention_grad_shape(s);
  return has_whole_blocks(s) || run.heads * std::max(run.queries, run.keys) <= kMostRows;
}

/// Columns by which copies can tell added keys from others: large numbers in queries, and in added
/// keys large ones below zero. Everything else has zeros there, so that only scores of added keys
/// change; they become so low that their weight is zero, unless all of a query's products with keys
/// are below -3e10 (f16) or -1e37 (bf16).
inline constexpr std::int64_t kMarks = 8;

/// Whether added keys need marks whatever the library has. A causal mask hides them, else the
/// library's mask for padding does: but that is reported (NVIDIA/cudnn-frontend, pull request 628)
/// to tell from the first 64 of the last 128 keys whether these need a mask, so that the others
/// would count where those are whole.
inline bool needs_marks(const AttentionShape& s) {
  return !has_whole_blocks(s) && !s.causal && s.keys % 128 == 64;
}

/// Copies that the fused gradient of `batches` works on where tokens are added; each a multiple of
/// 256 bytes.
struct AttentionCopies {
  Bytes queries = 0;  ///< of q, y and the gradients of both, each
  Bytes keys = 0;     ///< of k, v and the gradients of both, each
  Bytes sums = 0;
  Bytes lengths = 0;  ///< how many tokens of each batch count: of queries and of keys, each

  Bytes total() const { return 4 * queries + 4 * keys + sums + 2 * lengths; }
};
inline AttentionCopies attention_copies(const AttentionShape& s, std::int64_t batches,
                                        std::int64_t columns = 0) {
  if (has_whole_blocks(s)) return {};
  const AttentionShape run = fused_attention_grad_shape(s, columns);
  const auto bytes = [](std::int64_t elements, Bytes size) {
    return align_up(static_cast<Bytes>(elements) * size, 256);
  };
  return {.queries = bytes(batches * run.heads * run.queries * run.size, 2),
          .keys = bytes(batches * run.key_heads() * run.keys * run.size, 2),
          .sums = bytes(batches * run.heads * run.queries, 4),
          .lengths = bytes(batches, 4)};
}

/// Bytes that the fused gradient may take for `batches` of them. Deterministic ones keep the
/// gradients of all scores in 16 bits, besides a number for each query, and where heads share keys
/// the gradients by these for each head, until they are added up; a little more is allowed.
inline Bytes fused_attention_grad_workspace(const AttentionShape& s, std::int64_t batches) {
  const AttentionShape run = fused_attention_grad_shape(s);
  const auto units = static_cast<Bytes>(batches * s.heads);
  const Bytes scores = units * static_cast<Bytes>(run.queries * run.keys) * 2;
  const Bytes keys =
      s.group == 1 ? 0 : units * static_cast<Bytes>(run.keys * (run.size + run.value_size)) * 4;
  return align_up(
             scores + scores / 16 + keys + units * static_cast<Bytes>(run.queries) * 8 + MiB(2),
             256) +
         attention_copies(s, batches, needs_marks(s) ? kMarks : 0).total();
}

/// How many batches the fused gradient takes at a time: as many as keep its workspace small, and a
/// divisor of all.
inline std::int64_t fused_attention_grad_batches(const AttentionShape& s) {
  constexpr Bytes kMost = MiB(192);
  std::int64_t best = 1;
  for (std::int64_t n = 1; n <= s.batches; ++n) {
    if (fused_attention_grad_workspace(s, n) > kMost) break;
    if (s.batches % n == 0) best = n;
  }
  return best;
}

/// Bytes of the plain kernels' gradient: a number for each query.
inline Bytes plain_attention_grad_workspace(const AttentionShape& s, DType dtype) {
  return static_cast<Bytes>(s.units() * s.queries) * (dtype == DType::f64 ? 8 : 4);
}

/// Beyond the slot that all kernels may count on. `s` is with_heads_apart.
inline Bytes attention_grad_workspace(const AttentionShape& s, DType dtype) {
  const Bytes plain = plain_attention_grad_workspace(s, dtype);
  if (short_attention(s, dtype, true) || !fused_attention_grad(s, dtype)) return plain;
  return std::max(plain, fused_attention_grad_workspace(s, fused_attention_grad_batches(s)));
}

}  // namespace plimsoll::ops
