#include <plimsoll/nn/counts.h>

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/dense.h>
#include <plimsoll/plimsoll.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::random_tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Counts, OfTwoClassesAddUp) {
  const Device& device = test::op_cases_device();
  const Tensor logits = Tensor::from_values({2.0F, -1.0F, 0.0F, 3.0F, -2.0F}, {5}, device);
  const Tensor targets = Tensor::from_values({1.0F, 1.0F, 0.0F, 0.0F, 0.0F}, {5}, device);
  const Tensor counts = binary_counts(logits, targets);
  EXPECT_THAT(counts.to_vector<float>(), ElementsAre(1, 2, 1, 1));
  const BinaryCounts all = BinaryCounts::of(test::as_doubles(counts));
  EXPECT_DOUBLE_EQ(all.precision(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(all.recall(), 0.5);
  EXPECT_DOUBLE_EQ(all.f1(), 2 * (1.0 / 3) * 0.5 / (1.0 / 3 + 0.5));
  EXPECT_DOUBLE_EQ(all.accuracy(), 0.4);
  EXPECT_EQ(BinaryCounts().precision(), 0);
  // By 90% only the last of those said is.
  EXPECT_THAT(binary_counts(logits, targets, 0.9).to_vector<float>(), ElementsAre(0, 1, 2, 2));
}

TEST(Counts, TheAreaUnderTheCurveIsTheShareOfPairsInOrder) {
  const Tensor logits = random_tensor({300}, 1);
  const Tensor noise = random_tensor({300}, 2);
  const Tensor targets =
      ops::cast(ops::greater(ops::add(logits, noise), ops::zeros_like(logits)), DType::f32);
  const auto x = test::as_doubles(logits);
  const auto y = test::as_doubles(targets);
  double won = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (y[i] < 0.5 || y[j] > 0.5) continue;
      pairs += 1;
      won += x[i] > x[j] ? 1 : 0;
    }
  }
  EXPECT_NEAR(auc(test::as_doubles(roc_counts(logits, targets))), won / pairs, 0.005);
  EXPECT_TRUE(std::isnan(auc(test::as_doubles(roc_counts(logits, ops::ones_like(logits))))));
}

TEST(Counts, AConfusionMatrixIsKeptOverBatches) {
  const Device& device = test::op_cases_device();
  const Tensor logits =
      Tensor::from_values({3.0F, 1.0F, 1.0F, 0.0F, 2.0F, 1.0F, 0.0F, 0.0F, 5.0F}, {3, 3}, device);
  ConfusionMatrix matrix(3, device);
  EXPECT_TRUE(std::isnan(matrix.accuracy()));
  matrix.update(logits, Tensor::from_values({std::int64_t{0}, std::int64_t{0}, std::int64_t{2}},
                                            {3}, device));
  matrix.update(logits, Tensor::from_values({std::int64_t{1}, std::int64_t{1}, std::int64_t{-100}},
                                            {3}, device));
  EXPECT_THAT(matrix.counts().to_vector<float>(), ElementsAre(1, 1, 0, 1, 1, 0, 0, 0, 1));
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(matrix.of(0).precision(), 0.5);
  EXPECT_DOUBLE_EQ(matrix.of(2).recall(), 1);
  matrix.reset();
  EXPECT_TRUE(std::isnan(matrix.accuracy()));
  EXPECT_THAT(complaint([&] { matrix.of(3); }), HasSubstr("there is no class 3; it has 3"));
  EXPECT_THAT(complaint([&] {
                matrix.update(random_tensor({2, 4}, 1), test::random_indices({2}, 4, 1));
              }),
              HasSubstr("logits have 4 classes; it has 3"));
}

TEST(Counts, TrainersStreamThemByName) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Tensor x = random_tensor({50, 3}, 1).to(device);
  const Tensor labels = test::random_indices({50}, 4, 2).to(device);
  train::Trainer trainer(Dense(4),
                         {.loss = "cross_entropy",
                          .metrics = {"precision", "recall", "f1", "perplexity", "accuracy"},
                          .device = device});
  const auto metrics = trainer.evaluate(data::Dataset::from_tensor_slices({x, labels}).batch(16));
  EXPECT_NEAR(metrics.at("perplexity"), std::exp(metrics.at("loss")), 1e-3);
  ConfusionMatrix matrix(4, device);
  matrix.update(trainer.model()(x), labels);
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  for (std::int64_t c = 0; c < 4; ++c) {
    precision += matrix.of(c).precision() / 4;
    recall += matrix.of(c).recall() / 4;
    f1 += matrix.of(c).f1() / 4;
  }
  EXPECT_NEAR(metrics.at("precision"), precision, 1e-6);
  EXPECT_NEAR(metrics.at("recall"), recall, 1e-6);
  EXPECT_NEAR(metrics.at("f1"), f1, 1e-6);
  EXPECT_NEAR(metrics.at("accuracy"), matrix.accuracy(), 1e-6);
}

TEST(Counts, TrainersStreamThoseOfNumbers) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const Tensor x = random_tensor({50, 3}, 1).to(device);
  const Tensor y =
      ops::cast(ops::greater(random_tensor({50, 1}, 2), random_tensor({50, 1}, 3)), DType::f32)
          .to(device);
  train::Trainer trainer(
      Dense(1), {.loss = "mean_squared_error",
                 .metrics = {"root_mean_squared_error", "r2", "auc", "f1", "mean_absolute_error"},
                 .device = device});
  const auto metrics = trainer.evaluate(data::Dataset::from_tensor_slices({x, y}).batch(16));
  const auto said = test::as_doubles(trainer.model()(x));
  const auto is = test::as_doubles(y);
  double squares = 0;
  double mean = 0;
  double variance = 0;
  for (const double value : is) mean += value / 50;
  for (std::size_t i = 0; i < is.size(); ++i) {
    squares += (said[i] - is[i]) * (said[i] - is[i]);
    variance += (is[i] - mean) * (is[i] - mean);
  }
  EXPECT_NEAR(metrics.at("root_mean_squared_error"), std::sqrt(squares / 50), 1e-5);
  EXPECT_NEAR(metrics.at("r2"), 1 - squares / variance, 1e-4);
  EXPECT_NEAR(metrics.at("auc"), auc(test::as_doubles(roc_counts(trainer.model()(x), y))), 1e-6);
  EXPECT_NEAR(metrics.at("f1"),
              BinaryCounts::of(test::as_doubles(binary_counts(trainer.model()(x), y))).f1(), 1e-6);
}

TEST(Counts, MistakesAreNamed) {
  const Tensor x = random_tensor({4}, 1);
  EXPECT_THAT(complaint([&] {
                binary_counts(x, random_tensor({4, 1}, 1));
              }),
              HasSubstr("[binary_counts] predictions have shape [4], targets [4,1]"));
  EXPECT_THAT(complaint([&] { binary_counts(x, x, 1); }), HasSubstr("a threshold of 1"));
  EXPECT_THAT(complaint([&] { roc_counts(x, x, 1); }), HasSubstr("1 bins"));
  EXPECT_THAT(complaint([&] { confusion_counts(x, x); }),
              HasSubstr("logits have one dimension more"));
}

}  // namespace
}  // namespace plimsoll::nn
