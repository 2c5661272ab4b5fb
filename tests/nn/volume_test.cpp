#include <plimsoll/nn/volume.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>

#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_recorded;
using test::random_tensor;
using ::testing::HasSubstr;

const std::string kVolumes = "volumes";

TEST(Volume, ConvolutionsEqualPyTorchs) {
  expect_recorded(kVolumes, "conv_plain", Conv3D(4, 3, {.padding = 1}));
  expect_recorded(kVolumes, "conv_oblong",
                  Conv3D(4, {2, 1, 3}, {.stride = {2, 1, 2}, .padding = {1, 0, 1}, .groups = 2}));
  expect_recorded(kVolumes, "conv_dilated",
                  Conv3D(4, {3, 2, 2}, {.dilation = {2, 1, 3}, .bias = false}));
  expect_recorded(kVolumes, "conv_same", Conv3D(4, {3, 2, 4}, {.padding = kSame}));
  expect_recorded(kVolumes, "conv_one", Conv3D(4, 1));
  expect_recorded(kVolumes, "conv_strided", Conv3D(4, 2, {.stride = {3, 2, 2}}));
}

TEST(Volume, TransposedConvolutionsEqualPyTorchs) {
  expect_recorded(kVolumes, "transpose_plain", ConvTranspose3D(6, 2));
  expect_recorded(kVolumes, "transpose_overlap",
                  ConvTranspose3D(6, 3, {.stride = 2, .padding = 1, .output_padding = 1}));
  expect_recorded(
      kVolumes, "transpose_groups",
      ConvTranspose3D(6, {3, 2, 1}, {.stride = {1, 2, 1}, .dilation = {2, 1, 1}, .groups = 2}));
  expect_recorded(
      kVolumes, "transpose_cut",
      ConvTranspose3D(6, {4, 2, 2}, {.stride = 2, .padding = {2, 0, 0}, .bias = false}));
}

TEST(Volume, PoolingAndNormalisationEqualPyTorchs) {
  expect_recorded(kVolumes, "max_pool",
                  MaxPool3D({2, 3, 2}, {.stride = {2, 1, 2}, .padding = {1, 1, 0}}));
  expect_recorded(kVolumes, "max_pool_plain", MaxPool3D(2));
  expect_recorded(kVolumes, "avg_pool", AvgPool3D({3, 2, 2}, {.stride = {1, 2, 1}, .padding = 1}));
  expect_recorded(kVolumes, "global_avg_pool", GlobalAvgPool3D());
  expect_recorded(kVolumes, "global_max_pool", GlobalMaxPool3D());
  expect_recorded(kVolumes, "batch_norm", BatchNorm3D());
}

TEST(Volume, SeparableOnesOverSequencesEqualPyTorchs) {
  expect_recorded(kVolumes, "depthwise1d", DepthwiseConv1D(3, {.multiplier = 2, .padding = 1}));
  expect_recorded(kVolumes, "separable1d", SeparableConv1D(5, 4, {.multiplier = 2, .stride = 2}));
}

TEST(Volume, SamePaddingRoundsUp) {
  const Tensor x = random_tensor({1, 2, 7, 6, 5}, 1);
  EXPECT_EQ(Conv3D(3, 3, {.stride = 2, .padding = kSame})(x).shape(), Shape({1, 3, 4, 3, 3}));
  EXPECT_EQ(MaxPool3D(3, {.stride = 2, .padding = kSame})(x).shape(), Shape({1, 2, 4, 3, 3}));
  const Tensor none = random_tensor({0, 2, 7, 6, 5}, 1);
  EXPECT_EQ(Conv3D(3, 3)(none).shape(), Shape({0, 3, 5, 4, 3}));
  EXPECT_EQ(ConvTranspose3D(3, 2)(none).shape(), Shape({0, 3, 14, 12, 10}));
}

TEST(Volume, Trains) {
  test::expect_trains(Sequential(Conv3D(4, 3, {.padding = 1}), BatchNorm3D(), MaxPool3D(2),
                                 Conv3D(4, {2, 1, 1}), GlobalAvgPool3D(), Dense(2)),
                      {random_tensor({4, 2, 6, 4, 4}, 3)});
}

TEST(Volume, SaysWhatDoesNotFit) {
  const Tensor x = random_tensor({1, 2, 2, 6, 5}, 1);
  EXPECT_THAT(complaint([&] { Conv3D(3, 3)(x); }), HasSubstr("deeper than the input"));
  EXPECT_THAT(complaint([&] { MaxPool3D(2)(random_tensor({1, 2, 3}, 1)); }), HasSubstr("volumes"));
  EXPECT_THAT(complaint([&] { ConvTranspose3D(3, 2, {.output_padding = 2}); }),
              HasSubstr("not less than the stride"));
}

}  // namespace
}  // namespace plimsoll::nn
