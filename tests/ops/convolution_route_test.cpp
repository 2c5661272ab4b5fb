// How a GPU computes a convolution, as plans know it without one.
#include <gtest/gtest.h>

#include <plimsoll/ops/convolution_route.h>

namespace plimsoll {
namespace {

using ops::conv_route;
using ops::ConvKernel;
using ops::ConvPass;
using ops::ConvRoute;
using ops::ConvShape;

constexpr std::array kPasses = {ConvPass::forward, ConvPass::by_input, ConvPass::by_weight};

/// Windows of `size` with enough padding that a stride of 1 keeps the picture's size.
ConvShape shape(std::int64_t n, std::int64_t in, std::int64_t out, std::int64_t pixels,
                std::int64_t size, std::int64_t stride = 1, std::int64_t groups = 1,
                bool nhwc = true) {
  ConvShape s{.nhwc = nhwc, .n = n, .in_channels = in, .in_height = pixels, .in_width = pixels};
  s.out_channels = out;
  s.kernel_height = s.kernel_width = size;
  s.stride_down = s.stride_across = stride;
  s.groups = groups;
  s.padding = ops::Padding::all(size / 2);
  s.out_height = s.out_width = (pixels + 2 * (size / 2) - size) / stride + 1;
  return s;
}

TEST(ConvolutionRoute, AlignedChannelsLastTakeTheSlot) {
  for (const ConvPass pass : kPasses) {
    for (const ConvShape& s : {shape(256, 64, 64, 56, 3), shape(256, 512, 512, 7, 3),
                               shape(256, 1024, 2048, 14, 1, 2), shape(32, 64, 64, 256, 3)}) {
      const ConvRoute route = conv_route(s, pass, DType::bf16);
      EXPECT_EQ(route.kernel, ConvKernel::library);
      EXPECT_EQ(route.parts, 1);
      EXPECT_LE(route.workspace, MiB(32)) << s.in_shape().to_string();
    }
  }
}

TEST(ConvolutionRoute, Tf32TakesPicturesChannelsLastAndFullPrecisionChannelsFirst) {
  for (const ConvPass pass : kPasses) {
    for (const bool tf32 : {false, true}) {
      const Bytes fast =
          conv_route(shape(128, 64, 64, 56, 3, 1, 1, tf32), pass, DType::f32, tf32).workspace;
      const Bytes other =
          conv_route(shape(128, 64, 64, 56, 3, 1, 1, !tf32), pass, DType::f32, tf32).workspace;
      EXPECT_LE(fast, MiB(32));
      EXPECT_GT(other, MiB(128)) << "copies in the other layout have no room";
    }
    // Four channels are 16 bytes; three are not.
    EXPECT_LE(conv_route(shape(8, 4, 64, 224, 7, 2), pass, DType::f32, true).workspace, MiB(10));
    EXPECT_GE(conv_route(shape(8, 3, 64, 224, 7, 2), pass, DType::f32, true).workspace, MiB(20));
  }
}

TEST(ConvolutionRoute, FewChannelsHaveRoomForAPaddedCopy) {
  const ConvRoute route =
      conv_route(shape(256, 3, 64, 224, 7, 2), ConvPass::by_weight, DType::bf16);
  EXPECT_EQ(route.parts, 1);
  EXPECT_GE(route.workspace, Bytes{256} * 224 * 224 * 8 * 2 + MiB(8));
  EXPECT_LE(route.workspace, ops::kConvWorkspace);
}

TEST(ConvolutionRoute, LargeCopiesAreMadeOfPartsOfTheBatch) {
  const ConvShape s = shape(1000, 3, 64, 224, 7, 2);
  for (const ConvPass pass : kPasses) {
    const ConvRoute route = conv_route(s, pass, DType::bf16);
    EXPECT_EQ(route.parts, 4);
    EXPECT_LE(route.workspace, ops::kConvWorkspace);
    EXPECT_EQ(route.sums != 0, pass == ConvPass::by_weight);
  }
}

TEST(ConvolutionRoute, WorkspaceStaysWithinItsBoundUnlessWeightsAloneExceedIt) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const ConvPass pass : kPasses) {
      for (const bool nhwc : {false, true}) {
        for (const std::int64_t channels : {1, 3, 8, 33, 512, 2048}) {
          const ConvShape s = shape(64, channels, 2 * channels + 1, 65, 3, 1, 1, nhwc);
          const ConvRoute route = conv_route(s, pass, dtype);
          EXPECT_EQ(route.kernel, ConvKernel::library);
          EXPECT_LE(route.workspace,
                    std::max(ops::kConvWorkspace, route.weight + route.sums + MiB(8)));
        }
      }
    }
  }
}

TEST(ConvolutionRoute, DepthwiseHasKernelsOfItsOwn) {
  for (const ConvPass pass : kPasses) {
    EXPECT_EQ(conv_route(shape(128, 96, 96, 56, 7, 1, 96), pass, DType::bf16).kernel,
              ConvKernel::depthwise);
    EXPECT_LE(conv_route(shape(128, 768, 768, 7, 7, 1, 768), pass, DType::bf16).workspace, MiB(32));
    // Groups of several channels, and channels first, are the library's.
    EXPECT_EQ(conv_route(shape(64, 128, 128, 56, 3, 1, 32), pass, DType::bf16).kernel,
              ConvKernel::library);
    EXPECT_EQ(conv_route(shape(64, 96, 96, 56, 3, 1, 96, false), pass, DType::f32).kernel,
              ConvKernel::library);
  }
}

TEST(ConvolutionRoute, DoublesAndEmptyPicturesArePlain) {
  for (const ConvPass pass : kPasses) {
    EXPECT_EQ(conv_route(shape(2, 8, 8, 8, 3), pass, DType::f64).kernel, ConvKernel::plain);
    EXPECT_EQ(conv_route(shape(0, 8, 8, 8, 3), pass, DType::bf16).kernel, ConvKernel::plain);
    EXPECT_EQ(conv_route(shape(0, 8, 8, 8, 3), pass, DType::bf16).workspace, 0);
  }
}

}  // namespace
}  // namespace plimsoll
