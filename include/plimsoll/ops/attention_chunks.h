#pragma once

#include <algorithm>
#include <cstdint>

#include <plimsoll/ops/attention_shape.h>

namespace plimsoll::ops {

/// How a GPU computes attention by matrix products, with softmax between them: the scores of a few
/// heads and queries at a time. A function of the shape alone, so that a plan knows it without a
/// GPU.
struct AttentionChunks {
  /// Units of a chunk are one head of so many batches; else so many heads of one batch.
  bool of_batches = true;
  std::int64_t units = 1;
  std::int64_t queries = 0;
  std::int64_t stride = 0;  ///< elements from one row of scores to the next: whole 16 bytes
  /// So many chunks are computed at the same time, each in a lane of its own: one alone does not
  /// fill the device. Heads that share keys are in one lane.
  std::int64_t lanes = 1;

  // Parts of a lane's workspace, one after the other, each a multiple of 256 bytes.
  Bytes scores = 0;
  Bytes gradients = 0;  ///< those of the scores
  Bytes scratch = 0;    ///< the most that the products may take

  Bytes lane() const { return scores + gradients + scratch; }
  Bytes total() const { return static_cast<Bytes>(lanes) * lane(); }
};

/// Whether attention goes through chunks: what no fused kernel is for. Every query sees a key.
inline bool chunked_attention(const AttentionShape& s, DType dtype) {
  return (dtype == DType::f32 || dtype == DType::f64) && s.units() > 0 && s.size > 0 &&
         s.value_size > 0 && s.queries > 0 && s.keys > 0 && (!s.causal || s.queries <= s.keys);
}

/// Keys that the queries before `end` see: columns of their scores, a whole 16 bytes of them where
/// there are that many keys.
inline std::int64_t chunk_keys(const AttentionShape& s, std::int64_t end) {
  constexpr std::int64_t kUnit = 4;
  return std::min(s.keys, (s.seen(end - 1) + kUnit - 1) / kUnit * kUnit);
}

/// `s` is with_heads_apart.
inline AttentionChunks attention_chunks(const AttentionShape& s, DType dtype, bool grad) {
  constexpr std::int64_t kLanes = 2;
  // Of a lane: all of them about what the second-level cache has.
  constexpr std::int64_t kMost = std::int64_t{16} << 20;
  constexpr std::int64_t kScratch = std::int64_t{4} << 20;
  constexpr std::int64_t kCausalRows = 256;
  const auto up = [](std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; };
  const auto evenly = [](std::int64_t all, std::int64_t most) {
    const std::int64_t count = (all + most - 1) / most;
    return (all + count - 1) / count;
  };
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  AttentionChunks c;
  c.of_batches = s.group > 1 || s.batches >= s.heads;
  c.stride = up(s.keys, 4);
  // Queries at a time. Keys behind a mask are left out by blocks: smaller ones leave out more.
  std::int64_t rows = s.queries;
  if (s.causal) rows = std::min(rows, std::max(kCausalRows, up(s.queries / 8, 128)));
  const std::int64_t fitting = std::max<std::int64_t>(16, kMost / (c.stride * size) / 16 * 16);
  c.queries = rows <= fitting ? rows : std::min(rows, up(evenly(s.queries, fitting), 16));
  const std::int64_t unit = c.queries * c.stride * size;
  const std::int64_t across = c.of_batches ? s.batches : s.heads;
  c.units = evenly(across, std::clamp<std::int64_t>(kMost / unit, 1, 32768));
  const std::int64_t apart =
      (c.of_batches ? s.key_heads() : s.batches) * ((across + c.units - 1) / c.units);
  c.lanes = std::min(kLanes, apart);
  c.scores = align_up(static_cast<Bytes>(c.units * unit), 256);
  c.gradients = grad ? c.scores : 0;
  c.scratch = kScratch;
  return c;
}

/// For OpDef::workspace. `s` is with_heads_apart.
inline Bytes workspace_of_attention(const AttentionShape& s, DType dtype, bool grad) {
  if (chunked_attention(s, dtype)) return attention_chunks(s, dtype, grad).total();
  return grad ? attention_grad_workspace(s, dtype) : 0;
}

}  // namespace plimsoll::ops
