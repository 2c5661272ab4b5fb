#include <plimsoll/ops/normalize.h>

#include <cmath>

#include <gtest/gtest.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::complaint;
using test::distance;
using test::from_doubles;
using test::independent_of_threads;
using test::random_tensor;

Tensor doubled(const Tensor& x) { return from_doubles(as_doubles(x), x.shape(), DType::f64); }

/// y, dx, dscale, dbias of layer_norm, or of rms_norm without bias.
std::vector<Tensor> rows(const Tensor& x, const Tensor& scale, const Tensor& bias,
                         const Tensor& weights) {
  ops::GradientTape tape;
  std::vector<Tensor> sources = {x, scale};
  if (bias.defined()) sources.push_back(bias);
  tape.watch(sources);
  const Tensor y = bias.defined() ? ops::layer_norm(x, scale, bias) : ops::rms_norm(x, scale);
  std::vector<Tensor> results = tape.gradient(y, sources, weights);
  results.push_back(y);
  return results;
}

std::vector<Tensor> batch(const Tensor& x, const Tensor& scale, const Tensor& bias,
                          const Tensor& weights, Layout layout) {
  ops::GradientTape tape;
  const std::vector<Tensor> sources = {x, scale, bias};
  tape.watch(sources);
  const auto result = ops::batch_norm(x, scale, bias, 1e-5, layout);
  std::vector<Tensor> results = tape.gradient(result.y, sources, weights);
  results.insert(results.end(), {result.y, result.mean, result.variance});
  return results;
}

TEST(Normalize, OfManyRowsIsNearThatInDoublesAndDoesNotDependOnThreads) {
  const Tensor x = random_tensor({700, 130}, 31);
  const Tensor scale = random_tensor({130}, 32);
  const Tensor bias = random_tensor({130}, 33);
  const Tensor weights = random_tensor({700, 130}, 34);
  for (const Tensor& b : {bias, Tensor()}) {
    const auto results = rows(x, scale, b, weights);
    const auto expected =
        rows(doubled(x), doubled(scale), b.defined() ? doubled(b) : b, doubled(weights));
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_LT(distance(results[i], expected[i]), 3e-5) << i;
    }
    EXPECT_TRUE(independent_of_threads([&] { return rows(x, scale, b, weights); }));
  }
}

TEST(BatchNorm, OfManyElementsIsNearThatInDoublesAndDoesNotDependOnThreads) {
  for (const auto& [shape, layout] : {std::pair(Shape{16, 24, 30, 31}, Layout::channels_first),
                                      std::pair(Shape{16, 30, 31, 24}, Layout::channels_last),
                                      std::pair(Shape{9000, 24}, Layout::channels_first)}) {
    const Tensor x = ops::add(random_tensor(shape, 35), from_doubles({5.0}, {1}, DType::f32));
    const Tensor scale = random_tensor({24}, 36);
    const Tensor bias = random_tensor({24}, 37);
    const Tensor weights = random_tensor(shape, 38);
    const auto results = batch(x, scale, bias, weights, layout);
    const auto expected =
        batch(doubled(x), doubled(scale), doubled(bias), doubled(weights), layout);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_LT(distance(results[i], expected[i]), i == 1 || i == 2 ? 3e-4 : 3e-5)
          << shape.to_string() << i;
    }
    EXPECT_TRUE(independent_of_threads([&] { return batch(x, scale, bias, weights, layout); }));
  }
}

TEST(BatchNorm, VarianceFarFromZeroIsNotLost) {
  for (const auto& [shape, layout] : {std::pair(Shape{64, 2, 8, 8}, Layout::channels_first),
                                      std::pair(Shape{4096, 2}, Layout::channels_last)}) {
    auto values = as_doubles(random_tensor(shape, 39));
    for (double& value : values) value += 1000;
    const Tensor x = from_doubles(values, shape, DType::f32);
    const Tensor one = from_doubles({1, 1}, {2}, DType::f32);
    const auto result = ops::batch_norm(x, one, one, 1e-5, layout);
    const auto expected = ops::batch_norm(doubled(x), doubled(one), doubled(one), 1e-5, layout);
    EXPECT_LT(distance(result.variance, expected.variance), 1e-3);
    EXPECT_LT(distance(result.mean, expected.mean), 1e-3);
  }
}

TEST(BatchNorm, WithTheBatchsOwnStatisticsIsInference) {
  const Tensor x = random_tensor({6, 3, 5, 4}, 40);
  const Tensor scale = random_tensor({3}, 41);
  const Tensor bias = random_tensor({3}, 42);
  const auto result = ops::batch_norm(x, scale, bias);
  EXPECT_TRUE(test::same_bits(
      result.y, ops::batch_norm_inference(x, scale, bias, result.mean, result.variance)));
}

TEST(Normalize, KeepsParametersInF32BesideSixteenBitInputs) {
  const ops::PrecisionScope scope(DType::bf16);
  const Tensor x = random_tensor({8, 16}, 43, DType::bf16);
  const Tensor scale = random_tensor({16}, 44);
  const Tensor bias = random_tensor({16}, 45);
  const Tensor weights = random_tensor({8, 16}, 46, DType::bf16);
  const auto results = rows(x, scale, bias, weights);
  EXPECT_EQ(results[0].dtype(), DType::bf16);
  EXPECT_EQ(results[1].dtype(), DType::f32);
  EXPECT_EQ(results[3].dtype(), DType::bf16);
  const auto statistics = ops::batch_norm(x, scale, bias);
  EXPECT_EQ(statistics.y.dtype(), DType::bf16);
  EXPECT_EQ(statistics.mean.dtype(), DType::f32);
}

TEST(Normalize, ErrorsNameTheOpTheShapesAndTheInput) {
  const Tensor x = random_tensor({2, 3}, 47);
  const Tensor three = random_tensor({3}, 48);
  const Tensor two = random_tensor({2}, 49);
  EXPECT_EQ(complaint([&] { ops::layer_norm(x, two); }),
            "[layer_norm] input 1 must be f32 [3] (f32 [2,3], f32 [2]; epsilon=1e-05)");
  EXPECT_NE(complaint([&] { ops::layer_norm(x, three, two); }), "");
  EXPECT_NE(complaint([&] { ops::layer_norm(random_tensor({}, 1), three); }), "");
  EXPECT_EQ(complaint([&] { ops::rms_norm(x, random_tensor({3}, 1, DType::f16)); }),
            "[rms_norm] input 1 must be f32 (f32 [2,3], f16 [3]; epsilon=1e-06)");
  EXPECT_NE(complaint([&] { ops::batch_norm(random_tensor({2, 3, 4}, 1), three, three); }), "");
  EXPECT_NE(complaint([&] { ops::batch_norm(x, two, two); }), "");
  EXPECT_NE(complaint([&] { ops::batch_norm(x, three, Tensor()); }), "");
  EXPECT_NE(complaint([&] { ops::batch_norm_inference(x, three, three, three, two); }), "");
}

}  // namespace
}  // namespace plimsoll
