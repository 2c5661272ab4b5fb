// Group, instance, weight and spectral normalisation, and batch normalisation of sequences and
// volumes.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>

#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_gradients;
using test::expect_recorded;
using test::expect_trains;
using test::random_tensor;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(Norms, GroupNormEqualsPyTorchs) {
  expect_recorded("norms", "group_norm", GroupNorm(3));
  expect_recorded("norms", "group_norm_rows", GroupNorm(2, {.channels = 4}));
  expect_recorded("norms", "group_norm_one_group", GroupNorm(1, {.epsilon = 1e-3}));
  expect_recorded("norms", "group_norm_plain", GroupNorm(2, {.affine = false}));
  // Of one element nothing is left.
  EXPECT_THAT(group_norm(random_tensor({2, 1}, 1), 1).to_vector<float>(), Each(0.0F));
}

TEST(Norms, InstanceNormEqualsPyTorchs) {
  expect_recorded("norms", "instance_norm", InstanceNorm());
  expect_recorded("norms", "instance_norm_affine", InstanceNorm({.affine = true}));
}

TEST(Norms, BatchNormTakesTwoToFiveDimensions) {
  expect_recorded("norms", "batch_norm_1d", BatchNorm1D());
  expect_recorded("norms", "batch_norm_1d_rows", BatchNorm1D());
  expect_recorded("norms", "batch_norm_3d", BatchNorm3D({.channels = 3}));
  expect_recorded("norms", "batch_norm_3d_eval", BatchNorm3D(), {}, false);
}

TEST(Norms, BatchNormOfSequencesWithChannelsLastComputesTheSame) {
  const Tensor x = random_tensor({3, 4, 6}, 1);
  BatchNorm1D first;
  BatchNorm1D last({.layout = Layout::channels_last});
  const Tensor moved = x.permute({0, 2, 1}).contiguous();
  EXPECT_LT(test::distance(last(moved).permute({0, 2, 1}).contiguous(), first(x)), 1e-5);
}

TEST(Norms, WeightNormEqualsPyTorchs) {
  expect_recorded("norms", "weight_norm_dense", Dense(3, {.form = WeightForm::weight_norm}));
  expect_recorded("norms", "weight_norm_conv",
                  Conv2D(6, 3, {.padding = 1, .groups = 2, .form = WeightForm::weight_norm}));
}

TEST(Norms, SpectralNormEqualsPyTorchs) {
  expect_recorded("norms", "spectral_norm_dense", Dense(3, {.form = WeightForm::spectral_norm}));
  expect_recorded("norms", "spectral_norm_conv", Conv2D(4, 3, {.form = WeightForm::spectral_norm}));
  expect_recorded("norms", "spectral_norm_eval", Dense(3, {.form = WeightForm::spectral_norm}), {},
                  false);
}

TEST(Norms, WeightNormStartsNearThePlainWeight) {
  const Dense layer(64, {.in = 256, .form = WeightForm::weight_norm});
  layer.materialize(random_tensor({1}, 1).device(), 3);
  double squares = 0;
  const auto v = layer.find("weight_v")->tensor().to_vector<float>();
  for (const float value : v) squares += static_cast<double>(value) * value;
  const double length = std::sqrt(squares / 64);
  EXPECT_NEAR(layer.find("weight_g")->tensor().to_vector<float>()[0], length, 0.02 * length);
}

TEST(Norms, GradientsAreWhatDifferencesSay) {
  expect_gradients([](const Tensors& in) { return Tensors{group_norm(in[0], 2, in[1], in[2])}; },
                   {random_tensor({2, 4, 3}, 1, DType::f64), random_tensor({4}, 2, DType::f64),
                    random_tensor({4}, 3, DType::f64)});
  expect_gradients(
      [](const Tensors& in) { return Tensors{weight_norm(in[0], in[1])}; },
      {random_tensor({3, 2, 2}, 4, DType::f64), random_tensor({3, 1, 1}, 5, DType::f64)});
}

TEST(Norms, AreTrainedInsideOfAPlan) {
  expect_trains(Sequential(Conv2D(4, 3, {.form = WeightForm::spectral_norm}), GroupNorm(2),
                           Conv2D(4, 3, {.form = WeightForm::weight_norm}),
                           InstanceNorm({.affine = true}), BatchNorm2D()),
                {random_tensor({4, 2, 8, 8}, 5)});
}

TEST(Norms, MistakesAreNamed) {
  const Tensor x = random_tensor({2, 6, 3}, 1);
  EXPECT_THAT(complaint([&] { GroupNorm(4)(x); }),
              HasSubstr("[GroupNorm] 4 groups do not divide 6 channels"));
  EXPECT_THAT(
      complaint([&] { GroupNorm(2, {.channels = 4})(x); }),
      HasSubstr("has 6 channels (dimension 1), and the layer 4; make it with channels = 6"));
  EXPECT_THAT(complaint([&] {
                InstanceNorm()(random_tensor({2, 3}, 1));
              }),
              HasSubstr("[InstanceNorm] the input is f32 [2,3]"));
  EXPECT_THAT(complaint([&] { BatchNorm()(random_tensor({3}, 1)); }),
              HasSubstr("[BatchNorm] the input is f32 [3]; it takes 2 to 5 dimensions"));
  EXPECT_THAT(complaint([&] {
                weight_norm(x, random_tensor({2, 1}, 1));
              }),
              HasSubstr("lengths need the shape [2,1,1]"));
  EXPECT_THAT(complaint([&] { Dense(3, {.transposed = true, .form = WeightForm::weight_norm}); }),
              HasSubstr("leave out .transposed"));
}

}  // namespace
}  // namespace plimsoll::nn
