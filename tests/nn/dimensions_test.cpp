// Convolutions, pooling, padding and resizing in one and two dimensions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/padding.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/nn/upsampling.h>

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

const std::string kFile = "convolutions";

TEST(Dimensions, ConvolutionsHaveOblongWindowsAndKeepTheSize) {
  expect_recorded(kFile, "conv2d_oblong", Conv2D(4, {1, 5}, {.stride = {1, 2}, .padding = {0, 2}}));
  expect_recorded(kFile, "conv2d_same", Conv2D(4, {3, 4}, {.padding = kSame, .dilation = {1, 2}}));
}

TEST(Dimensions, SamePaddingWithAStrideIsTensorFlows) {
  // 7 pixels in windows of 3 by steps of 2: one zero on either side; 6 pixels: one at the end.
  const ops::Padding odd = sides(kSame, 7, 6, 3, 2);
  EXPECT_EQ(odd.top, 1);
  EXPECT_EQ(odd.bottom, 1);
  EXPECT_EQ(odd.left, 0);
  EXPECT_EQ(odd.right, 1);
  EXPECT_EQ(Conv2D(2, 3, {.stride = 2, .padding = kSame})(random_tensor({1, 1, 7, 6}, 1)).shape(),
            Shape({1, 2, 4, 3}));
  EXPECT_EQ(MaxPool2D(3, {.stride = 2, .padding = kSame})(random_tensor({1, 1, 7, 6}, 1)).shape(),
            Shape({1, 1, 4, 3}));
}

TEST(Dimensions, DepthwiseAndSeparableEqualPyTorchs) {
  expect_recorded(kFile, "depthwise", DepthwiseConv2D(3, {.multiplier = 2, .padding = 1}));
  expect_recorded(kFile, "separable", SeparableConv2D(5, 3, {.multiplier = 2}));
}

TEST(Dimensions, TransposedConvolutionsEqualPyTorchs) {
  expect_recorded(kFile, "conv_transpose2d_plain",
                  ConvTranspose2D(6, 3, {.stride = 2, .padding = 1, .output_padding = {1, 1}}));
  expect_recorded(kFile, "conv_transpose2d_groups",
                  ConvTranspose2D(6, 3, {.stride = {2, 3}, .dilation = {2, 1}, .groups = 2}));
  expect_recorded(kFile, "conv_transpose2d_no_bias",
                  ConvTranspose2D(6, 3, {.stride = 1, .bias = false}));
  expect_recorded(kFile, "conv_transpose1d_plain",
                  ConvTranspose1D(6, 4, {.stride = 2, .padding = 1}));
  expect_recorded(kFile, "conv_transpose1d_more",
                  ConvTranspose1D(6, 3, {.output_padding = 2, .groups = 2}));
}

TEST(Dimensions, ConvolutionsOverSequencesEqualPyTorchs) {
  expect_recorded(kFile, "conv1d_plain", Conv1D(6, 3, {.stride = 2, .padding = 1}));
  expect_recorded(kFile, "conv1d_groups", Conv1D(6, 3, {.dilation = 2, .groups = 2}));
  expect_recorded(kFile, "conv1d_same", Conv1D(6, 4, {.padding = kSame}));
  expect_recorded(kFile, "conv1d_one", Conv1D(6, 1, {.bias = false}));
  expect_recorded(kFile, "conv1d_causal", Conv1D(6, 3, {.padding = kCausal, .dilation = 2}));
}

TEST(Dimensions, PoolingEqualsPyTorchs) {
  expect_recorded(kFile, "max_pool1d", MaxPool1D(3, {.stride = 2, .padding = 1}));
  expect_recorded(kFile, "avg_pool1d", AvgPool1D(3, {.stride = 2, .padding = 1}));
  expect_recorded(kFile, "max_pool2d_oblong",
                  MaxPool2D({2, 3}, {.stride = {2, 1}, .padding = {1, 1}}));
  expect_recorded(kFile, "avg_pool2d_oblong",
                  AvgPool2D({1, 3}, {.stride = {1, 2}, .padding = {0, 1}}));
  expect_recorded(kFile, "global_max_pool2d", GlobalMaxPool2D());
  expect_recorded(kFile, "global_max_pool1d", GlobalMaxPool1D());
  expect_recorded(kFile, "global_avg_pool1d", GlobalAvgPool1D());
}

TEST(Dimensions, PaddingModesEqualPyTorchs) {
  const std::map<std::string, PadMode> modes = {{"reflect", PadMode::reflect},
                                                {"replicate", PadMode::replicate},
                                                {"circular", PadMode::circular}};
  const Pad2D::Sides around{.top = 0, .bottom = 3, .left = 2, .right = 1};
  for (const auto& [name, mode] : modes) {
    expect_recorded(kFile, "pad2d_" + name, Pad2D(around, mode));
    expect_recorded(kFile, "pad1d_" + name, Pad1D(2, 1, mode));
  }
  expect_recorded(kFile, "pad2d_zeros", Pad2D(around));
}

TEST(Dimensions, BilinearResizingEqualsPyTorchs) {
  const auto to = [](std::int64_t height, std::int64_t width, bool corners = false) {
    return [=](const Tensors& in) {
      return Tensors{resize_bilinear2d(in[0], height, width, corners)};
    };
  };
  expect_recorded(kFile, "bilinear_twice", to(8, 6));
  expect_recorded(kFile, "bilinear_odd", to(7, 5));
  expect_recorded(kFile, "bilinear_corners", to(7, 5, true));
  expect_recorded(kFile, "bilinear_smaller", to(2, 2));
  expect_recorded(kFile, "bilinear_one", to(1, 1));
  expect_recorded(kFile, "linear1d",
                  [](const Tensors& in) { return Tensors{resize_linear1d(in[0], 9)}; });
  expect_recorded(kFile, "bilinear_twice", Upsample2D(2, Upsampling::bilinear));
}

TEST(Dimensions, AnEmptyBatchIsResizedToAnEmptyBatch) {
  EXPECT_EQ(resize_bilinear2d(random_tensor({0, 2, 3, 4}, 1), 5, 7).shape(), Shape({0, 2, 5, 7}));
  EXPECT_EQ(resize_linear1d(random_tensor({0, 2, 3}, 1), 5).shape(), Shape({0, 2, 5}));
  EXPECT_EQ(Upsample2D(2, Upsampling::bilinear)(random_tensor({0, 2, 3, 4}, 1)).shape(),
            Shape({0, 2, 6, 8}));
}

TEST(Dimensions, GradientsAreWhatDifferencesSay) {
  const Tensor x = random_tensor({1, 2, 3, 4}, 1, DType::f64);
  for (const PadMode mode : {PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    expect_gradients(
        [mode](const Tensors& in) {
          return Tensors{pad(in[0], {0, 1, 2, 0}, {0, 0, 1, 3}, mode)};
        },
        {x});
  }
  expect_gradients([](const Tensors& in) { return Tensors{resize_bilinear2d(in[0], 5, 7)}; }, {x});
}

TEST(Dimensions, AreTrainedInsideOfAPlan) {
  expect_trains(Sequential(Conv1D(4, 3, {.padding = kSame}), MaxPool1D(2), ConvTranspose1D(3, 2),
                           Pad1D(1, 2, PadMode::reflect), AvgPool1D(2), GlobalMaxPool1D()),
                {random_tensor({4, 2, 9}, 1)});
  expect_trains(Sequential(SeparableConv2D(4, {3, 1}, {.padding = kSame}),
                           Upsample2D(2, Upsampling::bilinear), Pad2D(1, PadMode::replicate),
                           ConvTranspose2D(2, 3, {.stride = 2}), GlobalMaxPool2D()),
                {random_tensor({4, 2, 5, 6}, 1)});
}

TEST(Dimensions, MistakesAreNamed) {
  const Tensor rows = random_tensor({2, 3}, 1);
  const Tensor sequences = random_tensor({2, 3, 4}, 1);
  EXPECT_THAT(complaint([&] { Conv1D(4, 3)(rows); }),
              HasSubstr("[Conv1D] the input is f32 [2,3]; it takes sequences"));
  EXPECT_THAT(complaint([&] { Conv1D(4, 3, {.groups = 2})(sequences); }),
              HasSubstr("[Conv1D] 2 groups do not divide 3 channels in and 4 out"));
  EXPECT_THAT(complaint([&] { MaxPool2D(2)(sequences); }),
              HasSubstr("[MaxPool2D] the input is f32 [2,3,4]; it takes images"));
  EXPECT_THAT(complaint([&] { Pad1D(4, 0, PadMode::reflect)(sequences); }),
              HasSubstr("dimension 2 of f32 [2,3,4] cannot be padded by 4 with reflect"));
  EXPECT_THAT(complaint([&] {
                pad(sequences, {0, 0}, {0, 0}, PadMode::reflect);
              }),
              HasSubstr("give one for each dimension"));
  EXPECT_THAT(complaint([&] { Pad1D(-1, 0)(sequences); }), HasSubstr("use slice"));
  EXPECT_THAT(complaint([&] { resize_bilinear2d(sequences, 2, 2); }),
              HasSubstr("[resize_bilinear2d] the input is f32 [2,3,4]"));
  EXPECT_THAT(complaint([&] {
                resize_linear1d(random_tensor({2, 3, 0}, 1), 2);
              }),
              HasSubstr("dimension 2 needs an element at least"));
  EXPECT_THAT(complaint([&] { ConvTranspose1D(2, 3, {.stride = 2, .output_padding = 2}); }),
              HasSubstr("output_padding of 2 is not less than the stride 2"));
  EXPECT_THAT(complaint([&] {
                ConvTranspose2D(2, 2, {.padding = 5})(random_tensor({1, 1, 2, 2}, 1));
              }),
              HasSubstr("a padding of 5, 5 leaves"));
  EXPECT_THAT(complaint([&] { DepthwiseConv2D(3, {.in = 2, .multiplier = 0}); }),
              HasSubstr("a multiplier of 0"));
}

}  // namespace
}  // namespace plimsoll::nn
