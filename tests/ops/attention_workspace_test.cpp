// What a plan without a GPU has for attention's gradient there.
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/ops/op_def.h>

namespace plimsoll {
namespace {

/// Of q, k and v with these shapes; the values are as wide as the keys.
Bytes workspace(const Shape& q, const Shape& k, DType dtype, bool causal) {
  const ops::OpDef& def = *ops::find_op("attention_grad");
  const TensorType sums = {DType::f32, q.with_removed(q.rank() - 1)};
  const std::vector<TensorType> types = {{dtype, q}, {dtype, k}, {dtype, k},
                                         {dtype, q}, sums,       {dtype, q}};
  const ops::Attributes attributes = {{"causal", causal}, {"scale", 0.125}};
  const ops::OpInputs inputs(def, types, attributes);
  return def.workspace(inputs, def.types(inputs));
}

Bytes self_workspace(std::int64_t n, std::int64_t tokens, std::int64_t heads, std::int64_t size,
                     DType dtype, bool causal) {
  const ops::OpDef& def = *ops::find_op("self_attention_grad");
  const TensorType y = {dtype, Shape{n, tokens, heads * size}};
  const std::vector<TensorType> types = {
      {dtype, Shape{n, tokens, 3 * heads * size}}, y, {DType::f32, Shape{n, heads, tokens}}, y};
  const ops::Attributes attributes = {{"heads", heads}, {"causal", causal}, {"scale", 0.125}};
  const ops::OpInputs inputs(def, types, attributes);
  return def.workspace(inputs, def.types(inputs));
}

/// In the plain kernels' gradient, a number for each query.
constexpr Bytes kNumber = 4;

TEST(AttentionWorkspace, IsTheSameHoweverHeadsAreFoldedIntoBatches) {
  for (const bool causal : {false, true}) {
    const Bytes folded = workspace({3072, 300, 64}, {3072, 300, 64}, DType::bf16, causal);
    EXPECT_EQ(folded, workspace({256, 12, 300, 64}, {256, 12, 300, 64}, DType::bf16, causal));
    EXPECT_LE(folded, MiB(192));
    // Some heads at a time, with room for the gradients of their scores: whole blocks of tokens.
    EXPECT_GT(folded, Bytes{512 * 512 * 2});
  }
}

TEST(AttentionWorkspace, HasRoomForOneHeadHoweverLong) {
  const Bytes bytes = workspace({2, 3, 16300, 64}, {2, 3, 16000, 64}, DType::f16, false);
  EXPECT_GT(bytes, Bytes{16384} * 16128 * 2);
  EXPECT_LT(bytes, Bytes{16384} * 16128 * 2 * 5 / 4);
}

TEST(AttentionWorkspace, IsForTheLibraryBeyondFewTokens) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t size : {32, 64, 80, 128}) {
        EXPECT_GT(self_workspace(4, 300, 8, size, dtype, causal), Bytes{4 * 8 * 512 * 512 * 2});
      }
      // Few tokens, heads of a size that no fast kernel takes, or too few queries.
      EXPECT_EQ(self_workspace(4, 256, 8, 32, dtype, causal), 4 * 8 * 256 * kNumber);
      EXPECT_EQ(self_workspace(4, 256, 8, 64, dtype, causal), 4 * 8 * 256 * kNumber);
      EXPECT_EQ(self_workspace(4, 300, 8, 20, dtype, causal), 4 * 8 * 300 * kNumber);
      EXPECT_EQ(self_workspace(4, 300, 8, 136, dtype, causal), 4 * 8 * 300 * kNumber);
      EXPECT_EQ(workspace({4, 15, 64}, {4, 300, 64}, dtype, causal), 4 * 15 * kNumber);
    }
  }
  EXPECT_EQ(workspace({4, 300, 64}, {4, 520, 64}, DType::bf16, true), 4 * 300 * kNumber);
  EXPECT_GT(workspace({4, 300, 64}, {4, 520, 64}, DType::bf16, false), Bytes{512 * 768 * 2});
}

TEST(AttentionWorkspace, InF32HoldsSomeScoresAtATime) {
  for (const bool causal : {false, true}) {
    // Two lanes: in each both kinds of scores of one batch, and a little for the products.
    const Bytes few = self_workspace(4, 300, 8, 64, DType::f32, causal);
    EXPECT_GE(few, 2 * Bytes{300 * 300 * 4});
    EXPECT_LE(few, 2 * (2 * Bytes{4 * 300 * 300 * 8} + MiB(4)));
    // Of many, 32 MiB of each kind in both lanes together.
    for (const std::int64_t tokens : {1024, 3000, 16384, 100000}) {
      EXPECT_LE(self_workspace(16, tokens, 12, 64, DType::f32, causal), MiB(32 + 32 + 2 * 4))
          << tokens;
    }
    EXPECT_EQ(workspace({256, 12, 300, 64}, {256, 12, 300, 64}, DType::f32, causal),
              workspace({3072, 300, 64}, {3072, 300, 64}, DType::f32, causal));
  }
}

}  // namespace
}  // namespace plimsoll
