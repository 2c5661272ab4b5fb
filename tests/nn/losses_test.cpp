#include <plimsoll/nn/losses.h>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using ::testing::HasSubstr;

class Losses : public ::testing::Test {
 protected:
  Tensor floats(std::initializer_list<float> values, const Shape& shape) {
    return Tensor::from_values(values, shape, device_);
  }
  Tensor labels(std::initializer_list<std::int64_t> values) {
    return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, device_);
  }
  Device device_ = test::own_cpu({.limit = MiB(16)});
};

TEST_F(Losses, DistancesAreMeans) {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  const Tensor y = floats({2, 2, 1, 1}, {2, 2});
  EXPECT_FLOAT_EQ(mean_squared_error(x, y).item<float>(), (1 + 0 + 4 + 9) / 4.0F);
  EXPECT_FLOAT_EQ(mean_absolute_error(x, y).item<float>(), (1 + 0 + 2 + 3) / 4.0F);
  // 16-bit predictions are widened, not the result rounded.
  const Tensor narrow = ops::cast(x, DType::bf16);
  EXPECT_EQ(mean_squared_error(narrow, y).dtype(), DType::f32);
  EXPECT_FLOAT_EQ(mean_squared_error(narrow, y).item<float>(), 3.5F);
}

TEST_F(Losses, ShapesThatWouldBroadcastAreRefused) {
  try {
    mean_squared_error(floats({1, 2}, {2}), floats({1, 2}, {2, 1}));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("[mean_squared_error] predictions have shape [2], targets [2,1]"));
  }
}

TEST_F(Losses, CrossEntropyIsTheMeanOverRowsThatCount) {
  const Tensor logits = floats({1, 2, 3, 0, 0, 0, 5, 1, 1}, {3, 3});
  const float z = std::log(std::exp(1.0F) + std::exp(2.0F) + std::exp(3.0F));
  const float last = std::log(std::exp(5.0F) + 2 * std::exp(1.0F)) - 5;
  EXPECT_NEAR(cross_entropy(logits, labels({2, 1, 0})).item<float>(),
              ((z - 3) + std::log(3.0F) + last) / 3, 1e-6);
  EXPECT_NEAR(cross_entropy(logits, labels({2, ops::kIgnoreLabel, 0})).item<float>(),
              ((z - 3) + last) / 2, 1e-6);
  EXPECT_EQ(cross_entropy(logits, labels({-100, -100, -100})).item<float>(), 0);
  EXPECT_NEAR(cross_entropy(logits, labels({2, 1, 0}), {.smoothing = 0.3}).item<float>(),
              (0.7F * (z - 3) + 0.1F * (3 * z - 6) + std::log(3.0F) + 0.7F * last +
               0.1F * (3 * (last + 5) - 7)) /
                  3,
              1e-5);
  EXPECT_THROW(cross_entropy(logits, labels({2, 1, 0}), {.smoothing = 1}), InvalidArgument);
}

TEST_F(Losses, CrossEntropyWithDistributionsEqualsThatWithLabels) {
  const Tensor logits = floats({1, 2, 3, 0.5F, 0, -1}, {2, 3});
  const Tensor hot = floats({0, 0, 1, 1, 0, 0}, {2, 3});
  for (const double smoothing : {0.0, 0.2}) {
    EXPECT_NEAR(cross_entropy_dense(logits, hot, {.smoothing = smoothing}).item<float>(),
                cross_entropy(logits, labels({2, 0}), {.smoothing = smoothing}).item<float>(),
                1e-6);
  }
}

TEST_F(Losses, BinaryCrossEntropyHoldsForLargeLogits) {
  const Tensor logits = floats({0, 100, -100, 2}, {4});
  const Tensor targets = floats({1, 1, 1, 0.25F}, {4});
  const float last = std::log1p(std::exp(2.0F)) - 0.5F;
  EXPECT_NEAR(binary_cross_entropy(logits, targets).item<float>(),
              (std::log(2.0F) + 0 + 100 + last) / 4, 1e-4);
  ops::GradientTape tape;
  tape.watch(logits);
  const auto gradient =
      tape.gradient(binary_cross_entropy(logits, targets), logits).to_vector<float>();
  EXPECT_NEAR(gradient[0], -0.5 / 4, 1e-6);
  EXPECT_NEAR(gradient[2], -1.0 / 4, 1e-6);
}

TEST_F(Losses, AccuracyCountsHits) {
  const Tensor logits = floats({1, 2, 3, 9, 0, 1, 5, 6, 1, 0, 3, 2}, {4, 3});
  EXPECT_FLOAT_EQ(accuracy(logits, labels({2, 0, 0, 2})).item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(top_k_accuracy(logits, labels({2, 0, 0, 2}), 2).item<float>(), 1.0F);
  EXPECT_FLOAT_EQ(top_k_accuracy(logits, labels({0, 1, 2, 0}), 2).item<float>(), 0.0F);
  const Tensor narrow = Tensor::from_values({2, 0, 0, 2}, {4}, device_);  // i32
  EXPECT_FLOAT_EQ(accuracy(logits, narrow).item<float>(), 0.5F);
}

TEST_F(Losses, AccuracyLeavesIgnoredLabelsOut) {
  const Tensor logits = floats({1, 2, 3, 9, 0, 1, 5, 6, 1, 0, 3, 2}, {4, 3});
  EXPECT_FLOAT_EQ(accuracy(logits, labels({2, -100, 0, -100})).item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(top_k_accuracy(logits, labels({2, -100, 2, -100}), 2).item<float>(), 0.5F);
  EXPECT_FLOAT_EQ(accuracy(logits, labels({-100, -100, -100, -100})).item<float>(), 0.0F);
  const Tensor narrow = Tensor::from_values({2, -100, 0, -100}, {4}, device_);  // i32
  EXPECT_FLOAT_EQ(accuracy(logits, narrow).item<float>(), 0.5F);
  EXPECT_EQ(accuracy_counts(logits, labels({2, -100, 0, 0})).to_vector<float>(),
            (std::vector<float>{1, 3}));
  EXPECT_EQ(top_k_accuracy_counts(logits, labels({2, -100, 0, 0}), 3).to_vector<float>(),
            (std::vector<float>{3, 3}));
}

TEST_F(Losses, AMeanIsKeptOverSteps) {
  Mean mean(device_);
  EXPECT_TRUE(std::isnan(mean.result()));
  mean.update(floats({2}, {}), 3);
  mean.update(floats({6}, {}), 1);
  EXPECT_DOUBLE_EQ(mean.result(), 3);
  mean.reset();
  mean.update(floats({6}, {}));
  EXPECT_DOUBLE_EQ(mean.result(), 6);
}

}  // namespace
}  // namespace plimsoll::nn
