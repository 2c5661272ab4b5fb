// What the layers compute, against plain loops.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "support/own_device.h"

namespace plimsoll::nn {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Values = std::vector<float>;

class Layers : public ::testing::Test {
 protected:
  Tensor random(const Shape& shape, std::string_view name = "x") {
    Tensor x = Tensor::empty(shape, DType::f32, device_);
    fill(x, Init::normal(1), name, 1);
    return x;
  }
  static void expect_near(const Tensor& got, const Values& expected, double tolerance = 1e-5) {
    const auto values = got.to_vector<float>();
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << i;
    }
  }
  static Values of(Module& module, std::string_view name) {
    return module.find(name)->tensor().to_vector<float>();
  }

  Device device_ = test::own_cpu({.limit = MiB(64)});
};

Values dense(const Values& x, std::size_t rows, const Values& weight, const Values& bias,
             bool transposed) {
  const std::size_t out = bias.size();
  const std::size_t in = weight.size() / out;
  Values y(rows * out);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < in; ++i) {
        sum += static_cast<double>(x[r * in + i]) * weight[transposed ? i * out + o : o * in + i];
      }
      y[r * out + o] = static_cast<float>(sum);
    }
  }
  return y;
}

TEST_F(Layers, DenseTakesItsWeightEitherWay) {
  const Tensor x = random({2, 3, 5});
  for (const bool transposed : {false, true}) {
    Dense layer(7, {.in = 5, .transposed = transposed});
    layer.materialize(device_, 2);
    const Tensor y = layer(x);
    EXPECT_EQ(y.shape(), Shape({2, 3, 7}));
    expect_near(y,
                dense(x.to_vector<float>(), 6, of(layer, "weight"), of(layer, "bias"), transposed));
  }
  Dense plain(7, {.in = 5, .bias = false});
  EXPECT_EQ(plain.parameters().size(), 1U);
}

TEST_F(Layers, EmbeddingPicksRows) {
  Embedding layer(10, 3);
  layer.materialize(device_, 2);
  const Tensor ids = Tensor::from_values({std::int64_t{9}, std::int64_t{0}}, {2, 1}, device_);
  const Values table = of(layer, "weight");
  const Tensor y = layer(ids);
  EXPECT_EQ(y.shape(), Shape({2, 1, 3}));
  EXPECT_EQ(y.to_vector<float>(),
            (Values{table[27], table[28], table[29], table[0], table[1], table[2]}));
}

TEST_F(Layers, BatchNormKeepsRunningStatisticsAsPyTorchDoes) {
  BatchNorm2D layer({.channels = 3});
  layer.materialize(device_);
  const Tensor x = random({4, 3, 2, 2});
  const Values v = x.to_vector<float>();
  Values mean(3);
  Values variance(3);
  Values expected(v.size());
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    double squares = 0;
    const auto at = [&](std::size_t n, std::size_t i) { return (n * 3 + c) * 4 + i; };
    for (std::size_t n = 0; n < 4; ++n) {
      for (std::size_t i = 0; i < 4; ++i) sum += v[at(n, i)];
    }
    const double m = sum / 16;
    for (std::size_t n = 0; n < 4; ++n) {
      for (std::size_t i = 0; i < 4; ++i) squares += std::pow(v[at(n, i)] - m, 2);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      for (std::size_t i = 0; i < 4; ++i) {
        expected[at(n, i)] = static_cast<float>((v[at(n, i)] - m) / std::sqrt(squares / 16 + 1e-5));
      }
    }
    mean[c] = static_cast<float>(0.1 * m);
    variance[c] = static_cast<float>(0.9 + 0.1 * squares / 15);
  }
  expect_near(layer(x), expected, 1e-4);
  expect_near(*layer.find("running_mean"), mean);
  expect_near(*layer.find("running_var"), variance);

  layer.eval();
  Values inference(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::size_t c = i / 4 % 3;
    inference[i] = (v[i] - mean[c]) / std::sqrt(variance[c] + 1e-5F);
  }
  expect_near(layer(x), inference, 1e-4);
  expect_near(*layer.find("running_mean"), mean);  // evaluation changes nothing
}

TEST_F(Layers, NormsScaleRows) {
  LayerNorm layer_norm({.features = 4});
  layer_norm.materialize(device_);
  const Tensor x = Tensor::from_values({1.0F, 2.0F, 3.0F, 6.0F}, {1, 4}, device_);
  const float s = std::sqrt(3.5F + 1e-5F);
  expect_near(layer_norm(x), {-2 / s, -1 / s, 0, 3 / s});
  RMSNorm rms_norm({.features = 4});
  rms_norm.materialize(device_);
  const float r = std::sqrt(12.5F);
  expect_near(rms_norm(x), {1 / r, 2 / r, 3 / r, 6 / r});
}

TEST_F(Layers, DropoutActsInTrainingOnly) {
  Dropout layer(0.25);
  const Tensor x = Tensor::from_values(std::span<const float>(Values(8000, 3.0F)), {8000}, device_);
  const ops::RandomScope scope({.seed = 1});
  const auto dropped = layer(x).to_vector<float>();
  std::int64_t zeros = 0;
  for (const float v : dropped) {
    if (v == 0) {
      ++zeros;
    } else {
      EXPECT_FLOAT_EQ(v, 4.0F);
    }
  }
  EXPECT_NEAR(static_cast<double>(zeros), 2000, 160);
  layer.eval();
  EXPECT_THAT(layer(x).to_vector<float>(), Each(3.0F));
  EXPECT_THROW(Dropout(1.0), InvalidArgument);
  EXPECT_THROW(Dropout(-0.1), InvalidArgument);
}

TEST_F(Layers, TransposedConvolutionMakesPicturesLarger) {
  ConvTranspose2D layer(3, 2, 2);
  layer.materialize(device_, 4);
  const Tensor x = random({1, 2, 2, 3});
  const Tensor y = layer(x);
  ASSERT_EQ(y.shape(), Shape({1, 3, 4, 6}));
  const Values v = x.to_vector<float>();
  const Values w = of(layer, "weight");
  const Values b = of(layer, "bias");
  Values expected(72);
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t k = 0; k < 6; ++k) {
        double sum = b[o];
        for (std::size_t i = 0; i < 2; ++i) {
          sum += static_cast<double>(v[(i * 2 + h / 2) * 3 + k / 2]) *
                 w[((i * 3 + o) * 2 + h % 2) * 2 + k % 2];
        }
        expected[(o * 4 + h) * 6 + k] = static_cast<float>(sum);
      }
    }
  }
  expect_near(y, expected);
}

TEST_F(Layers, AttentionMixesRowsByTheirScores) {
  constexpr std::size_t kTokens = 5;
  constexpr std::size_t kFeatures = 6;
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kSize = kFeatures / kHeads;
  for (const bool causal : {false, true}) {
    SelfAttention layer(
        {.features = kFeatures, .heads = kHeads, .causal = causal, .deviation = 0.7});
    layer.materialize(device_, 6);
    const Tensor x = random({1, kTokens, kFeatures});
    const Values qkv =
        dense(x.to_vector<float>(), kTokens, of(layer, "qkv.weight"), of(layer, "qkv.bias"), false);
    Values mixed(kTokens * kFeatures);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto at = [&](std::size_t part, std::size_t t, std::size_t i) {
        return static_cast<double>(qkv[(t * 3 + part) * kFeatures + h * kSize + i]);
      };
      for (std::size_t t = 0; t < kTokens; ++t) {
        const std::size_t keys = causal ? t + 1 : kTokens;
        std::vector<double> weights(keys);
        double total = 0;
        for (std::size_t k = 0; k < keys; ++k) {
          double score = 0;
          for (std::size_t i = 0; i < kSize; ++i) score += at(0, t, i) * at(1, k, i);
          weights[k] = std::exp(score / std::sqrt(3.0));
          total += weights[k];
        }
        for (std::size_t i = 0; i < kSize; ++i) {
          double sum = 0;
          for (std::size_t k = 0; k < keys; ++k) sum += weights[k] / total * at(2, k, i);
          mixed[t * kFeatures + h * kSize + i] = static_cast<float>(sum);
        }
      }
    }
    expect_near(layer(x),
                dense(mixed, kTokens, of(layer, "proj.weight"), of(layer, "proj.bias"), false));
  }
  try {
    SelfAttention({.features = 10, .heads = 3});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 heads do not divide 10 features"));
  }
}

TEST_F(Layers, ResidualAddsWhatCameIn) {
  Residual same(Lambda([](const Tensor& x) { return ops::scale(x, 2); }));
  expect_near(same(Tensor::from_values({1.0F, -2.0F}, {2}, device_)), {3, -6});
  Residual other(ReLU(), Dense(2, {.in = 2}));
  EXPECT_EQ(other.parameters()[0].name(), "shortcut.weight");
}

TEST_F(Layers, ErrorsOfConstructionNameTheLayer) {
  try {
    Conv2D(8, 3, {.in = 6, .groups = 4});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("[Conv2D] 4 groups do not divide 6 channels in and 8 out"));
  }
}

}  // namespace
}  // namespace plimsoll::nn
