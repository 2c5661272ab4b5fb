// Small models with the weights of Hugging Face's and torchvision's: the same logits and gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/vision_models.h>

#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_recorded;
using test::recorded_inputs;
using test::recorded_tensor;
using ::testing::HasSubstr;

Model small_llama(bool tied = false) {
  return llama({.vocabulary = 29,
                .context = 16,
                .features = 24,
                .hidden = 20,
                .layers = 2,
                .heads = 6,
                .key_heads = 2,
                .tied = tied});
}

Model small_bert() {
  return bert({.vocabulary = 29,
               .context = 16,
               .features = 24,
               .hidden = 20,
               .layers = 2,
               .heads = 4,
               .dropout = 0});
}

TEST(PublishedModels, LlamaIsHuggingFaces) {
  expect_recorded("language_models", "llama", small_llama(), {.narrow_share = 0.1});
}

TEST(PublishedModels, BertWithMasksAndKindsIsHuggingFaces) {
  expect_recorded("language_models", "bert", small_bert(), {.narrow_share = 0.1, .least = 1});
}

TEST(PublishedModels, ConvNextIsTorchvisions) {
  expect_recorded(
      "vision_models", "convnext",
      convnext({.classes = 5, .size = 16, .blocks = {2, 1}, .widths = {8, 12}, .drop_path = 0}),
      {.narrow_share = 0.1});
}

TEST(PublishedModels, LossesWithoutWholeLogitsAreThoseOfTheLogits) {
  const Tensor ids = recorded_inputs("language_models", "bert")[0];
  Tensor labels = test::random_indices({2, 9}, 29, 1);
  labels.mutable_data<std::int64_t>()[3] = -100;
  for (const Model& model : {small_llama(), small_llama(true), small_bert()}) {
    model.materialize(ids.device(), 3);
    if (const auto bias = model.find("cls.predictions.bias")) {
      bias->assign(test::random_tensor({29}, 5));
    }
    EXPECT_NEAR(model.loss(ids, labels).item<float>(),
                cross_entropy(model(ids), labels).item<float>(), 1e-5);
  }
}

TEST(PublishedModels, BertLooksAtNoPadding) {
  const Model model = small_bert();
  Tensor ids = test::random_indices({1, 6}, 28, 1);
  for (int i = 0; i < 6; ++i) ids.mutable_data<std::int64_t>()[i] += 1;
  const Tensor whole = model(ids.slice(1, 0, 4).contiguous());
  ids.mutable_data<std::int64_t>()[4] = 0;
  ids.mutable_data<std::int64_t>()[5] = 0;
  EXPECT_LT(test::distance(model(ids).slice(1, 0, 4).contiguous(), whole), 1e-5);
}

TEST(PublishedModels, MistakesAreNamed) {
  EXPECT_THAT(complaint([] { llama({.heads = 12, .key_heads = 5}); }),
              HasSubstr("[llama] 12 heads over 5 key heads of 768 features"));
  EXPECT_THAT(complaint([] { bert({.heads = 7}); }), HasSubstr("[bert] 7 heads"));
  EXPECT_THAT(complaint([] { lstm_lm({.features = 5, .tied = true}); }),
              HasSubstr("as many features (5) as hidden elements (1024)"));
  EXPECT_THAT(complaint([] {
                small_llama()(test::random_indices({1, 17}, 29, 1));
              }),
              HasSubstr("at most 16 tokens"));
  EXPECT_THAT(complaint([] { convnext({.blocks = {1}}); }), HasSubstr("1 stages of blocks"));
}

}  // namespace
}  // namespace plimsoll::nn
