// The losses beside cross-entropy and distances, against PyTorch's, and weights.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/losses.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/train/loss.h>

#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_gradients;
using test::random_tensor;
using ::testing::HasSubstr;

void expect_recorded(const std::string& name, const test::TensorsFunction& function) {
  test::expect_recorded("losses", name, function);
}

TEST(MoreLosses, OfNumbersEqualPyTorchs) {
  expect_recorded("huber", [](const Tensors& in) { return Tensors{huber(in[0], in[1], 0.7)}; });
  expect_recorded("smooth_l1",
                  [](const Tensors& in) { return Tensors{smooth_l1(in[0], in[1], 0.7)}; });
  expect_recorded("log_cosh", [](const Tensors& in) { return Tensors{log_cosh(in[0], in[1])}; });
  expect_recorded("poisson", [](const Tensors& in) { return Tensors{poisson(in[0], in[1])}; });
  expect_recorded("hinge", [](const Tensors& in) { return Tensors{hinge(in[0], in[1])}; });
  expect_recorded("squared_hinge",
                  [](const Tensors& in) { return Tensors{squared_hinge(in[0], in[1])}; });
}

TEST(MoreLosses, OfClassesEqualPyTorchs) {
  expect_recorded("kl_divergence",
                  [](const Tensors& in) { return Tensors{kl_divergence(in[0], in[1])}; });
  for (const double smoothing : {0.0, 0.2}) {
    expect_recorded(smoothing == 0 ? "class_weights_0" : "class_weights_2", [smoothing](
                                                                                const Tensors& in) {
      return Tensors{cross_entropy(in[0], in[1], {.smoothing = smoothing, .class_weights = in[2]})};
    });
  }
  expect_recorded("focal", [](const Tensors& in) { return Tensors{focal(in[0], in[1])}; });
  expect_recorded("focal_half",
                  [](const Tensors& in) { return Tensors{focal(in[0], in[1], 1.5)}; });
  expect_recorded("binary_focal",
                  [](const Tensors& in) { return Tensors{binary_focal(in[0], in[1])}; });
  expect_recorded("binary_focal_plain",
                  [](const Tensors& in) { return Tensors{binary_focal(in[0], in[1], 1.5, -1)}; });
}

TEST(MoreLosses, OfDistributionsWithWeightsOfClassesEqualPyTorchs) {
  for (const std::string name : {"rows", "one", "more"}) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto loss = [smoothing](const Tensors& in) {
        return Tensors{
            cross_entropy_dense(in[0], in[1], {.smoothing = smoothing, .class_weights = in[2]})};
      };
      test::expect_recorded("losses_dense", name + (smoothing == 0 ? "_0" : "_2"), loss);
      // cross_entropy() knows a distribution by its shape.
      test::expect_recorded(
          "losses_dense", name + (smoothing == 0 ? "_0" : "_2"), [smoothing](const Tensors& in) {
            return Tensors{
                cross_entropy(in[0], in[1], {.smoothing = smoothing, .class_weights = in[2]})};
          });
    }
  }
  const Tensor x = random_tensor({2, 3}, 1);
  EXPECT_THAT(complaint([&] { cross_entropy_dense(x, x, {.class_weights = x}); }),
              HasSubstr("class_weights have shape [2,3] for 3 classes"));
}

TEST(MoreLosses, OfVectorsEqualPyTorchs) {
  expect_recorded("cosine_similarity",
                  [](const Tensors& in) { return Tensors{cosine_similarity(in[0], in[1])}; });
  expect_recorded("cosine_embedding", [](const Tensors& in) {
    return Tensors{cosine_embedding(in[0], in[1], in[2], -0.5)};
  });
  expect_recorded("triplet",
                  [](const Tensors& in) { return Tensors{triplet(in[0], in[1], in[2])}; });
  expect_recorded("contrastive",
                  [](const Tensors& in) { return Tensors{contrastive(in[0], in[1], in[2], 4)}; });
}

TEST(MoreLosses, WeightsAreOfElementsOrOfTheBatch) {
  const Tensor x =
      Tensor::from_values({1.0F, 2.0F, 3.0F, 4.0F}, {2, 2}, random_tensor({1}, 1).device());
  const Tensor y = ops::zeros_like(x);
  const Tensor rows = Tensor::from_values({3.0F, 1.0F}, {2}, x.device());
  const Tensor each = Tensor::from_values({0.0F, 1.0F, 0.0F, 0.0F}, {2, 2}, x.device());
  EXPECT_FLOAT_EQ(mean_squared_error(x, y, rows).item<float>(), (3 * (1 + 4) + 9 + 16) / 8.0F);
  EXPECT_FLOAT_EQ(mean_absolute_error(x, y, each).item<float>(), 2);
  EXPECT_EQ(mean_squared_error(x, y, ops::zeros_like(rows)).item<float>(), 0);
  const Tensor labels = Tensor::from_values({std::int64_t{0}, std::int64_t{1}}, {2}, x.device());
  const float first =
      cross_entropy(x, labels, {.weights = Tensor::from_values({1.0F, 0.0F}, {2}, x.device())})
          .item<float>();
  EXPECT_NEAR(first, std::log(1 + std::exp(1.0F)), 1e-6);
  EXPECT_THAT(
      complaint([&] { mean_squared_error(x, y, Tensor::zeros({3}, DType::f32, x.device())); }),
      HasSubstr("weights have shape [3] for losses of shape [2,2]"));
  EXPECT_THAT(complaint([&] { cross_entropy(x, labels, {.class_weights = each}); }),
              HasSubstr("give one for each class, [2]"));
}

TEST(MoreLosses, HoldFarOut) {
  const Tensor far = Tensor::from_values({-1e4F, 1e4F}, {2}, random_tensor({1}, 1).device());
  const Tensor none = ops::zeros_like(far);
  EXPECT_NEAR(log_cosh(far, none).item<float>(), 1e4 - std::log(2.0), 1);
  EXPECT_TRUE(std::isfinite(binary_focal(far, none).item<float>()));
  EXPECT_EQ(cosine_similarity(none, none).item<float>(), 0);
}

TEST(MoreLosses, GradientsAreWhatDifferencesSay) {
  const Tensor x = random_tensor({3, 4}, 1, DType::f64);
  const Tensor y = random_tensor({3, 4}, 2, DType::f64);
  for (const auto& loss : {+[](const Tensor&a, const Tensor&b) { return huber(a, b, 0.5); },
                           +[](const Tensor&a, const Tensor&b) { return log_cosh(a, b); },
                           +[](const Tensor&a, const Tensor&b) { return poisson(a, b); },
                           +[](const Tensor&a, const Tensor&b) { return squared_hinge(a, b); },
                           +[](const Tensor&a, const Tensor&b) { return cosine_distance(a, b); }}) {
    expect_gradients([loss](const Tensors& in) { return Tensors{loss(in[0], in[1])}; }, {x, y});
  }
  const Tensor labels = test::random_indices({3}, 4, 3);
  expect_gradients([&](const Tensors& in) { return Tensors{focal(in[0], labels, 1.5)}; }, {x});
}

TEST(MoreLosses, TrainersKnowThemByName) {
  for (const char* name : {"huber", "log_cosh", "poisson", "hinge", "squared_hinge", "focal",
                           "binary_focal", "kl_divergence", "cosine_distance"}) {
    EXPECT_EQ(train::Loss(name).name(), name);
  }
  EXPECT_THAT(complaint([] { train::Loss("hubert"); }), HasSubstr("there are cross_entropy"));
}

TEST(MoreLosses, MistakesAreNamed) {
  const Tensor x = random_tensor({3, 4}, 1);
  EXPECT_THAT(complaint([&] { huber(x, x, 0); }), HasSubstr("[huber] delta is 0"));
  EXPECT_THAT(complaint([&] { hinge(x, random_tensor({3}, 1)); }),
              HasSubstr("[hinge] predictions have shape [3,4], targets [3]"));
  EXPECT_THAT(complaint([&] { focal(x, test::random_indices({3}, 4, 1), -1); }),
              HasSubstr("[focal] gamma is -1"));
  EXPECT_THAT(complaint([&] {
                triplet(x, x, random_tensor({3, 5}, 1));
              }),
              HasSubstr("[triplet] vectors have shapes [3,4] and [3,5]"));
  EXPECT_THAT(complaint([&] { contrastive(x, x, x); }),
              HasSubstr("[contrastive] `same` has shape [3,4] for pairs [3]"));
}

}  // namespace
}  // namespace plimsoll::nn
