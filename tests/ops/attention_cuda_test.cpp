// Attention on the GPU, on shapes that recorded cases are too small for: those of cuDNN's fused
// kernels, several chunks, masks of keys and heads that share them. The CPU in f32 is the
// reference.
#include <cmath>
#include <cstdlib>

#include "support/matrices_on_gpu.h"

namespace plimsoll {
namespace {

using ops::Attributes;
using test::as_doubles;
using test::from_doubles;
using test::random_tensor;

class AttentionOnGpu : public test::MatricesOnGpu {
 protected:
  /// A case of self_attention. `apart`: how far queries are on one side of zero, and keys on the
  /// other.
  struct SelfAttention {
    std::int64_t n = 1;
    std::int64_t tokens = 0;
    std::int64_t heads = 1;
    std::int64_t size = 64;
    bool causal = false;
    DType dtype = DType::bf16;
    double apart = 0;
    std::int64_t key_heads = 0;  ///< 0: as many
    Tensor mask = {};            ///< of keys; undefined: all count

    Attributes attributes() const {
      Attributes all = {{"heads", heads},
                        {"causal", causal},
                        {"scale", 1 / std::sqrt(static_cast<double>(size))}};
      if (key_heads != 0) all.set("key_heads", key_heads);
      return all;
    }
    /// qkv, and for the gradient the results, their gradient and a mask; in `dtype` but for the
    /// sums and the mask.
    std::vector<Tensor> inputs() const {
      const std::int64_t all_heads = heads + 2 * (key_heads == 0 ? heads : key_heads);
      const Shape shape = {n, tokens, all_heads * size};
      std::vector<double> values = as_doubles(random_tensor(shape, 1));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::int64_t head = static_cast<std::int64_t>(i) / size % all_heads;
        if (head < heads) {
          values[i] += apart;
        } else if (head < heads + (all_heads - heads) / 2) {
          values[i] -= apart;
        }
      }
      const Tensor qkv = from_doubles(values, shape, dtype);
      std::vector<Tensor> given = {converted(qkv, DType::f32)};
      if (mask.defined()) given.push_back(mask);
      const auto forward = run("self_attention", given, attributes(), test::op_cases_device());
      const Tensor dy = random_tensor(Shape{n, tokens, heads * size}, 2);
      std::vector<Tensor> all = {qkv, converted(forward[0], dtype), forward[1],
                                 converted(dy, dtype)};
      if (mask.defined()) all.push_back(mask);
      return all;
    }
  };

  static void check_self_attention(const SelfAttention& c) {
    SCOPED_TRACE(fmt::format("{} tokens{}{}", c.tokens, c.causal ? ", causal" : "",
                             c.mask.defined() ? ", masked" : ""));
    std::vector<Tensor> inputs = c.inputs();
    std::vector<Tensor> given = {inputs[0]};
    if (c.mask.defined()) given.push_back(c.mask);
    check("self_attention", given, c.attributes(), c.dtype);
    check("self_attention_grad", inputs, c.attributes(), c.dtype, 4U);
    if (c.tokens > 256) return;
    inputs.push_back(random_tensor(Shape{c.n, c.heads, c.tokens}, 3));
    check("self_attention_grad", inputs, c.attributes(), c.dtype, 4U | 1U << (inputs.size() - 1));
  }

  /// bool [n, keys]: of the first row all keys count, of others those before an end that differs,
  /// of odd ones not all of these either, and of the last none.
  static Tensor key_mask(std::int64_t n, std::int64_t keys) {
    std::vector<double> values;
    for (std::int64_t row = 0; row < n; ++row) {
      const std::int64_t end = row == 0 ? keys : row == n - 1 ? 0 : keys - 1 - row * 37 % keys;
      for (std::int64_t key = 0; key < keys; ++key) {
        values.push_back(key < end && (row % 2 == 0 || key % 5 != 2) ? 1 : 0);
      }
    }
    return from_doubles(values, {n, keys}, DType::boolean);
  }
  static void check_self_attention(std::int64_t n, std::int64_t tokens, std::int64_t heads,
                                   std::int64_t size, bool causal, DType dtype, double apart = 0) {
    check_self_attention({n, tokens, heads, size, causal, dtype, apart});
  }

  /// A case of attention: queries [2, 3, queries, size], with as many heads of keys and values.
  struct Attention {
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t size = 64;
    bool causal = false;
    double scale = 0.125;
    DType dtype = DType::bf16;
    double apart = 0;

    Attributes attributes() const { return {{"causal", causal}, {"scale", scale}}; }
    /// q, k and v, and for the gradient the results and their gradient; in `dtype` but for the
    /// sums.
    std::vector<Tensor> inputs() const {
      const auto shifted = [&](std::int64_t tokens, std::uint64_t seed, double by) {
        const Shape shape = {2, 3, tokens, size};
        std::vector<double> values = as_doubles(random_tensor(shape, seed));
        for (double& value : values) value += by;
        return from_doubles(values, shape, dtype);
      };
      const Tensor q = shifted(queries, 1, apart);
      const Tensor k = shifted(keys, 2, -apart);
      const Tensor v = shifted(keys, 3, 0);
      const auto forward =
          run("attention",
              {converted(q, DType::f32), converted(k, DType::f32), converted(v, DType::f32)},
              attributes(), test::op_cases_device());
      return {q, k, v, converted(forward[0], dtype), forward[1], shifted(queries, 4, 0)};
    }
  };

  static void check_attention(const Attention& c) {
    SCOPED_TRACE(fmt::format("{} keys{}", c.keys, c.causal ? ", causal" : ""));
    const std::vector<Tensor> inputs = c.inputs();
    check("attention", {inputs[0], inputs[1], inputs[2]}, c.attributes(), c.dtype);
    check("attention_grad", inputs, c.attributes(), c.dtype, 16U);
  }
  static void check_attention(std::int64_t queries, std::int64_t keys, std::int64_t size,
                              bool causal, double scale, DType dtype, double apart = 0) {
    check_attention({queries, keys, size, causal, scale, dtype, apart});
  }
};

TEST_F(AttentionOnGpu, IsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      check_self_attention(2, 128, 3, 64, causal, dtype);
      check_self_attention(3, 197, 2, 64, causal, dtype);
      check_self_attention(1, 65, 2, 96, causal, dtype);
      check_self_attention(1, 200, 1, 128, causal, dtype);
      check_self_attention(2, 40, 2, 24, causal, dtype);
    }
  }
  check_self_attention(2, 100, 2, 64, true, DType::f32);
  check_self_attention(1, 70, 1, 160, false, DType::f32);
}

TEST_F(AttentionOnGpu, OfFewTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {1, 15, 16, 17, 64, 127, 197, 200, 255, 256}) {
        check_self_attention(2, tokens, 2, 64, causal, dtype);
      }
      check_self_attention(1, 197, 3, 32, causal, dtype);
      // More heads than a GPU has multiprocessors, as many of them at a time as fit one.
      for (const std::int64_t tokens : {33, 197, 256}) {
        check_self_attention(80, tokens, 4, 64, causal, dtype);
      }
      check_attention(33, 80, 64, causal, 0.125, dtype);
      check_attention(80, 33, 64, causal, 0.125, dtype);
      check_attention(200, 17, 32, causal, -0.2, dtype);
      check_attention(2, 256, 64, causal, 0.125, dtype);
    }
  }
}

// Gradients of more tokens than 256 are cuDNN's, on copies with whole blocks of them.
TEST_F(AttentionOnGpu, OfManyTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      // 320: where 64 are left of whole blocks of 128 keys.
      for (const std::int64_t tokens : {257, 300, 320, 577, 1000}) {
        check_self_attention(1, tokens, 2, 64, causal, dtype);
      }
      for (const std::int64_t size : {32, 80, 128}) {
        check_self_attention(2, 300, 2, size, causal, dtype);
      }
      check_self_attention(2, 320, 2, 128, causal, dtype);
    }
  }
}

TEST_F(AttentionOnGpu, BetweenManyTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    check_attention(300, 520, 64, false, 0.125, dtype);
    check_attention(520, 300, 64, false, 0.125, dtype);
    check_attention(300, 320, 64, false, 0.125, dtype);
    check_attention(512, 300, 32, false, 0.2, dtype);
    check_attention(300, 100, 128, false, 0.1, dtype);
    check_attention(300, 300, 64, true, 0.125, dtype);
    check_attention(300, 520, 64, true, 0.125, dtype);
  }
}

TEST_F(AttentionOnGpu, WithMasksOfKeysIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      // By kernels for few tokens up to 384.
      for (const std::int64_t tokens : {1, 16, 33, 197, 256, 300, 384}) {
        check_self_attention({.n = 5,
                              .tokens = tokens,
                              .heads = 2,
                              .causal = causal,
                              .dtype = dtype,
                              .mask = key_mask(5, tokens)});
      }
      check_self_attention({.n = 80,
                            .tokens = 200,
                            .heads = 3,
                            .size = 32,
                            .causal = causal,
                            .dtype = dtype,
                            .mask = key_mask(80, 200)});
      // By plain ones.
      check_self_attention({.n = 3,
                            .tokens = 400,
                            .size = 64,
                            .causal = causal,
                            .dtype = dtype,
                            .mask = key_mask(3, 400)});
      check_self_attention({.n = 3,
                            .tokens = 70,
                            .size = 80,
                            .causal = causal,
                            .dtype = dtype,
                            .mask = key_mask(3, 70)});
      // All scores are about -200.
      check_self_attention({.n = 4,
                            .tokens = 384,
                            .causal = causal,
                            .dtype = dtype,
                            .apart = 5,
                            .mask = key_mask(4, 384)});
    }
  }
  for (const bool causal : {false, true}) {
    check_self_attention({.n = 4,
                          .tokens = 130,
                          .heads = 3,
                          .size = 20,
                          .causal = causal,
                          .dtype = DType::f32,
                          .mask = key_mask(4, 130)});
  }
}

TEST_F(AttentionOnGpu, WithFewerHeadsOfKeysIsAsOnTheCpu) {
  for (const bool causal : {false, true}) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      // cuDNN's: whole blocks of tokens, and copies to which some are added.
      for (const std::int64_t tokens : {100, 256, 300, 320, 512}) {
        check_self_attention({.n = 2,
                              .tokens = tokens,
                              .heads = 6,
                              .causal = causal,
                              .dtype = dtype,
                              .key_heads = 2});
      }
      check_self_attention({.tokens = 512,
                            .heads = 4,
                            .size = 128,
                            .causal = causal,
                            .dtype = dtype,
                            .key_heads = 1});
      check_self_attention(
          {.tokens = 64, .heads = 4, .size = 32, .causal = causal, .dtype = dtype, .key_heads = 2});
      // By plain kernels: sizes that no others take, and a mask.
      check_self_attention(
          {.tokens = 50, .heads = 4, .size = 20, .causal = causal, .dtype = dtype, .key_heads = 2});
      check_self_attention({.n = 3,
                            .tokens = 70,
                            .heads = 4,
                            .causal = causal,
                            .dtype = dtype,
                            .key_heads = 2,
                            .mask = key_mask(3, 70)});
    }
    check_self_attention({.n = 3,
                          .tokens = 130,
                          .heads = 6,
                          .size = 20,
                          .causal = causal,
                          .dtype = DType::f32,
                          .key_heads = 2,
                          .mask = key_mask(3, 130)});
  }
  const auto apart = [](DType dtype, std::int64_t queries, std::int64_t keys) {
    check("attention",
          {random_tensor({2, 6, queries, 64}, 1), random_tensor({2, 3, keys, 64}, 2),
           random_tensor({2, 3, keys, 64}, 3)},
          {{"causal", false}, {"scale", 0.125}}, dtype);
  };
  for (const DType dtype : {DType::bf16, DType::f32}) {
    apart(dtype, 300, 520);
    apart(dtype, 33, 80);
  }
}

TEST_F(AttentionOnGpu, IsRightWhereAllScoresAreFarBelowZero) {
  // About -200, so that exp(score) is zero even in f32, and exp(-score) infinite.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {197, 300, 320}) {
        check_self_attention(2, tokens, 2, 64, causal, dtype, 5);
      }
      for (const std::int64_t size : {32, 128}) {
        check_self_attention(1, 300, 2, size, causal, dtype, 5);
        check_self_attention(1, 320, 2, size, causal, dtype, 5);
      }
    }
    check_attention(300, 520, 64, false, 0.125, dtype, 5);
    check_attention(520, 320, 64, false, 0.125, dtype, 5);
  }
}

TEST_F(AttentionOnGpu, HasAGradientThatStaysWithinItsMemory) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {256, 300, 320, 512}) {
        const SelfAttention c{
            .n = 2, .tokens = tokens, .heads = 3, .size = 64, .causal = causal, .dtype = dtype};
        check_memory("self_attention_grad", c.inputs(), c.attributes());
      }
    }
    const Attention c{.queries = 300, .keys = 520, .size = 32, .dtype = dtype};
    check_memory("attention_grad", c.inputs(), c.attributes());
    for (const std::int64_t tokens : {256, 300}) {
      const SelfAttention grouped{
          .n = 2, .tokens = tokens, .heads = 6, .dtype = dtype, .key_heads = 2};
      check_memory("self_attention_grad", grouped.inputs(), grouped.attributes());
    }
    for (const std::int64_t tokens : {100, 384}) {
      const SelfAttention masked{
          .n = 3, .tokens = tokens, .heads = 2, .dtype = dtype, .mask = key_mask(3, tokens)};
      check_memory("self_attention_grad", masked.inputs(), masked.attributes());
    }
  }
}

TEST_F(AttentionOnGpu, SaysOnceWhereItIsSlow) {
  if (std::getenv("PLIMSOLL_LOG") != nullptr) GTEST_SKIP() << "PLIMSOLL_LOG is set";
  // A causal mask between different numbers of tokens: plain kernels.
  const ops::OpDef& def = *ops::find_op("attention");
  const TensorType q = {DType::bf16, Shape{4, 200, 64}};
  const TensorType k = {DType::bf16, Shape{4, 2000, 64}};
  const std::vector<TensorType> types = {q, k, k};
  const Attributes attributes = {{"causal", true}, {"scale", 0.125}};
  const ops::OpInputs signature(def, types, attributes);
  const DeviceScope current(gpu());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    ops::kernels_of("cuda").find(def)->prepare(signature, def.types(signature));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "plimsoll: warning: [attention] bf16, 1 x 4 heads of 64, 200 queries, 2000 keys, "
            "causal: plain kernels, many times slower than others; use as many queries as keys, or "
            "no causal mask\n");
}

TEST_F(AttentionOnGpu, TakesBatchesInParts) {
  // More than 128 MiB of scores in 16 bits.
  check_self_attention(6, 1024, 12, 64, true, DType::bf16);
}

TEST_F(AttentionOnGpu, OfApartQueriesKeysAndValuesIsAsOnTheCpu) {
  const Shape shape = {2, 3, 80, 64};
  check("attention", {random_tensor(shape, 1), random_tensor(shape, 2), random_tensor(shape, 3)},
        {{"causal", true}, {"scale", 0.125}}, DType::bf16);
  check(
      "attention",
      {random_tensor(shape, 1), random_tensor({2, 3, 33, 64}, 2), random_tensor({2, 3, 33, 64}, 3)},
      {{"causal", false}, {"scale", 0.125}}, DType::bf16);
  check("attention",
        {random_tensor({2, 3, 33, 64}, 1), random_tensor(shape, 2), random_tensor(shape, 3)},
        {{"causal", true}, {"scale", 0.125}}, DType::bf16);
}

}  // namespace
}  // namespace plimsoll
