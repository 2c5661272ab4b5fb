// How a GPU cuts attention by matrix products into chunks, as plans know it without one.
#include <gtest/gtest.h>

#include <plimsoll/ops/attention_chunks.h>

namespace plimsoll {
namespace {

using ops::attention_chunks;
using ops::AttentionChunks;
using ops::AttentionShape;

/// Rows of q, k and v together, as self_attention has them.
AttentionShape together(std::int64_t batches, std::int64_t heads, std::int64_t tokens,
                        std::int64_t key_heads, bool causal = true) {
  AttentionShape s{.batches = batches, .heads = heads, .group = heads / key_heads};
  s.queries = s.keys = tokens;
  s.size = s.value_size = 64;
  s.causal = causal;
  ops::lay_together(s);
  return s;
}

TEST(AttentionChunks, ShareTheDeviceInTwoLanes) {
  for (const bool grad : {false, true}) {
    const AttentionChunks gpt2 = attention_chunks(together(16, 12, 1024, 12), DType::f32, grad);
    EXPECT_EQ(gpt2.lanes, 2);
    EXPECT_EQ(gpt2.units, 16);
    EXPECT_EQ(gpt2.total(), 2 * gpt2.lane());
  }
}

TEST(AttentionChunks, OfHeadsThatShareKeysAreInOneLane) {
  // Their gradients by the keys are sums, which are added one after the other.
  EXPECT_EQ(attention_chunks(together(2, 8, 64, 1), DType::f32, true).lanes, 1);
  EXPECT_EQ(attention_chunks(together(2, 8, 64, 2), DType::f32, true).lanes, 2);
}

TEST(AttentionChunks, OfOneHeadAndBatchAreInOneLane) {
  EXPECT_EQ(attention_chunks(together(1, 1, 300, 1), DType::f32, false).lanes, 1);
}

TEST(AttentionChunks, StayWithinTheirWorkspaceWhateverTheShape) {
  for (const std::int64_t tokens : {1, 17, 197, 1024, 4097, 16384}) {
    for (const std::int64_t batches : {1, 7, 128}) {
      for (const std::int64_t key_heads : {1, 3, 12}) {
        for (const bool causal : {false, true}) {
          const AttentionShape s = together(batches, 12, tokens, key_heads, causal);
          for (const DType dtype : {DType::f32, DType::f64}) {
            EXPECT_LE(attention_chunks(s, dtype, false).total(), MiB(40)) << tokens;
            EXPECT_LE(attention_chunks(s, dtype, true).total(), MiB(72)) << tokens;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
