#include <plimsoll/nn/transformer.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/rope.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_gradients;
using test::expect_recorded;
using test::expect_trains;
using test::random_tensor;
using ::testing::HasSubstr;

TEST(AttentionFunction, EqualsPyTorchs) {
  const auto plain = [](const Tensors& in) { return Tensors{attention(in[0], in[1], in[2])}; };
  expect_recorded("attention", "grouped", plain);
  expect_recorded("attention", "one", plain);
  expect_recorded("attention", "grouped_causal", [](const Tensors& in) {
    return Tensors{attention(in[0], in[1], in[2], {.causal = true})};
  });
  expect_recorded("attention", "masked", [](const Tensors& in) {
    return Tensors{attention(in[0], in[1], in[2], {.key_mask = in[3]})};
  });
  expect_recorded("attention", "masked_causal", [](const Tensors& in) {
    return Tensors{attention(in[0], in[1], in[2], {.causal = true, .key_mask = in[3]})};
  });
  expect_recorded("attention", "bias", [](const Tensors& in) {
    return Tensors{attention(in[0], in[1], in[2], {.scale = 0.3, .bias = in[3]})};
  });
}

TEST(AttentionFunction, WrittenOutIsTheFusedOne) {
  const Tensor q = random_tensor({2, 4, 5, 3}, 1);
  const Tensor k = random_tensor({2, 2, 257, 3}, 2);
  const Tensor v = random_tensor({2, 2, 257, 3}, 3);
  const Tensor nothing = Tensor::zeros({1}, DType::f32, q.device());
  for (const bool causal : {false, true}) {
    EXPECT_LT(test::distance(attention(q, k, v, {.causal = causal}),
                             attention(q, k, v, {.causal = causal, .bias = nothing})),
              1e-5);
    const Tensor mask = ops::greater(random_tensor({2, 257}, 4), random_tensor({2, 257}, 5));
    EXPECT_LT(
        test::distance(attention(q, k, v, {.causal = causal, .key_mask = mask}),
                       attention(q, k, v, {.causal = causal, .key_mask = mask, .bias = nothing})),
        1e-5);
  }
}

TEST(AttentionFunction, BlocksOfAWindowAreTheWhole) {
  const auto expect_same = [](std::int64_t queries, std::int64_t keys,
                              const AttentionOptions& how) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys, window {}", queries, keys, how.window));
    const Tensor q = random_tensor({2, 2, queries, 3}, 1);
    const Tensor k = random_tensor({2, 1, keys, 3}, 2);
    const Tensor v = random_tensor({2, 1, keys, 3}, 3);
    AttentionOptions whole = how;
    whole.bias = Tensor::zeros({1}, DType::f32, q.device());
    const auto results = [&](const AttentionOptions& options) {
      ops::GradientTape tape;
      const std::vector<Tensor> sources = {q, k, v};
      tape.watch(sources);
      const Tensor y = attention(q, k, v, options);
      std::vector<Tensor> all = tape.gradient(ops::sum(ops::square(y)), sources);
      all.push_back(y);
      return all;
    };
    const auto blocks = results(how);
    const auto expected = results(whole);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_LT(test::distance(blocks[i], expected[i]), 2e-5) << i;
    }
  };
  for (const bool causal : {false, true}) {
    expect_same(300, 300, {.causal = causal, .window = 7});
    expect_same(257, 257, {.causal = causal, .window = 65});
    expect_same(200, 330, {.causal = causal, .window = 1});
    expect_same(330, 200, {.causal = causal, .window = 20});
    const Tensor mask = ops::greater(random_tensor({2, 300}, 4), random_tensor({2, 300}, 5));
    expect_same(300, 300, {.causal = causal, .key_mask = mask, .window = 7});
  }
}

TEST(AttentionFunction, AQueryWithoutKeysGivesZeros) {
  const Tensor q = random_tensor({1, 1, 2, 3}, 1);
  const Tensor v = random_tensor({1, 1, 4, 3}, 2);
  const Tensor mask = Tensor::zeros({1, 4}, DType::boolean, q.device());
  const Tensor nothing = Tensor::zeros({1}, DType::f32, q.device());
  for (const Tensor& bias : {Tensor(), nothing}) {
    for (const bool causal : {false, true}) {
      const Tensor y = attention(q, v, v, {.causal = causal, .key_mask = mask, .bias = bias});
      EXPECT_EQ(y.to_vector<float>(), std::vector<float>(6, 0));
    }
  }
}

TEST(AttentionFunction, AnInfiniteBiasHidesKeysAsAMaskDoes) {
  const Tensor q = random_tensor({2, 4, 3, 4}, 1);
  const Tensor k = random_tensor({2, 2, 5, 4}, 2);
  const Tensor v = random_tensor({2, 2, 5, 6}, 3);
  Tensor mask = Tensor::empty({2, 5}, DType::boolean, q.device());
  Tensor bias = Tensor::zeros({2, 1, 1, 5}, DType::f32, q.device());
  for (std::int64_t i = 0; i < 10; ++i) {
    // Some keys of the first of the batch are hidden, and all of the second.
    const bool counts = i < 5 && i % 2 == 0;
    mask.mutable_data<bool>()[i] = counts;
    if (!counts) bias.mutable_data<float>()[i] = -std::numeric_limits<float>::infinity();
  }
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      const std::vector<Tensor> parts = {ops::cast(q, dtype), ops::cast(k, dtype),
                                         ops::cast(v, dtype), bias};
      ops::GradientTape tape;
      tape.watch(parts);
      const Tensor y =
          attention(parts[0], parts[1], parts[2], {.causal = causal, .bias = parts[3]});
      const std::vector<Tensor> gradients = tape.gradient(ops::sum(ops::square(y)), parts);
      const Tensor masked =
          attention(parts[0], parts[1], parts[2], {.causal = causal, .key_mask = mask});
      EXPECT_LT(test::distance(y, masked), dtype == DType::f32 ? 1e-5 : 2e-2);
      for (const double value : test::as_doubles(y.slice(0, 1, 2).contiguous())) {
        EXPECT_EQ(value, 0);
      }
      for (const Tensor& gradient : gradients) {
        for (const double value : test::as_doubles(gradient)) EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(AttentionFunction, GradientsAreWhatDifferencesSay) {
  expect_gradients(
      [](const Tensors& in) {
        return Tensors{attention(in[0], in[1], in[2], {.causal = true, .bias = in[3]})};
      },
      {random_tensor({1, 2, 3, 2}, 1, DType::f64), random_tensor({1, 1, 4, 2}, 2, DType::f64),
       random_tensor({1, 1, 4, 2}, 3, DType::f64), random_tensor({2, 3, 4}, 4, DType::f64)});
  expect_gradients(
      [](const Tensors& in) {
        return Tensors{rope(in[0], rope_tables(in[0], 3, 4), RopeStyle::interleaved)};
      },
      {random_tensor({2, 3, 4}, 5, DType::f64)});
}

TEST(Rope, EqualsTheFormula) {
  expect_recorded("attention", "rope_halves",
                  [](const Tensors& in) { return Tensors{rope(in[0], rope_tables(in[0], 9, 6))}; });
  expect_recorded("attention", "rope_interleaved", [](const Tensors& in) {
    return Tensors{rope(in[0], rope_tables(in[0], 9, 8, 500, 7), RopeStyle::interleaved)};
  });
}

TEST(Transformers, MultiHeadAttentionEqualsPyTorchs) {
  expect_recorded("attention", "mha_self", MultiHeadAttention({.features = 8, .heads = 2}));
  expect_recorded("attention", "mha_cross",
                  MultiHeadAttention({.features = 8, .heads = 2, .bias = false}));
  expect_recorded(
      "attention", "mha_other",
      MultiHeadAttention({.features = 8, .heads = 4, .key_features = 6, .value_features = 3}));
}

TEST(Transformers, LayersEqualPyTorchs) {
  for (const bool first : {false, true}) {
    const TransformerLayerOptions options = {
        .features = 8,
        .heads = 2,
        .hidden = 12,
        .dropout = 0,
        .activation = first ? TransformerLayerOptions::Activation::gelu
                            : TransformerLayerOptions::Activation::relu,
        .norm_first = first};
    const std::string when = first ? "pre" : "post";
    expect_recorded("attention", "encoder_" + when, TransformerEncoderLayer(options));
    // A query that does not count takes part in nothing; PyTorch's is as ours.
    expect_recorded("attention", "encoder_mask_" + when, TransformerEncoderLayer(options));
    expect_recorded("attention", "decoder_" + when, TransformerDecoderLayer(options));
  }
}

TEST(Transformers, AreTrainedInsideOfAPlan) {
  const Tensor x = random_tensor({4, 5, 8}, 1);
  const Tensor mask = ops::greater(random_tensor({4, 5}, 2), random_tensor({4, 5}, 3));
  const TransformerLayerOptions options = {.features = 8, .heads = 2, .hidden = 12};
  expect_trains(TransformerEncoderLayer(options), {x});
  expect_trains(TransformerEncoderLayer(options), {x, mask});
  expect_trains(TransformerDecoderLayer(options), {x, random_tensor({4, 7, 8}, 4)});
  expect_trains(GatedFeedForward(8, 12, Gate::gelu), {x}, 1);
}

TEST(Transformers, MistakesAreNamed) {
  EXPECT_THAT(complaint([] { MultiHeadAttention({.features = 10, .heads = 3}); }),
              HasSubstr("[MultiHeadAttention] 3 heads do not divide 10 features"));
  const Tensor q = random_tensor({2, 4, 5, 3}, 1);
  const Tensor k = random_tensor({2, 3, 5, 3}, 1);
  EXPECT_THAT(complaint([&] { attention(q, k, k); }),
              HasSubstr("[attention] 4 heads of q, 3 of k and 3 of v"));
  EXPECT_THAT(complaint([&] { attention(q, q, q, {.key_mask = q}); }),
              HasSubstr("key_mask is f32 [2,4,5,3]; it must be bool [2,5]"));
  EXPECT_THAT(complaint([&] { rope_tables(q, 5, 3); }), HasSubstr("needs an even number"));
  EXPECT_THAT(complaint([&] { rope(q, rope_tables(q, 5, 4)); }), HasSubstr("[rope] x is"));
  EXPECT_THAT(complaint([&] { TransformerDecoderLayer({.features = 8, .heads = 2})(Tensors{q}); }),
              HasSubstr("[TransformerDecoderLayer] 1 inputs; it takes x and memory"));
}

}  // namespace
}  // namespace plimsoll::nn
