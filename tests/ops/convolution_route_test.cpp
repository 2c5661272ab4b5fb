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

/// Elements of the weight with channels in multiples of 8.
Bytes padded_weight(const ConvShape& s) {
  return static_cast<Bytes>((s.in_channels + 7) / 8 * 8 * ((s.out_channels + 7) / 8 * 8) *
                            s.kernel_height * s.kernel_width);
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

TEST(ConvolutionRoute, Tf32TakesPicturesChannelsLast) {
  for (const ConvPass pass : kPasses) {
    const Bytes last = conv_route(shape(128, 64, 64, 56, 3), pass, DType::f32, true).workspace;
    const Bytes first =
        conv_route(shape(128, 64, 64, 56, 3, 1, 1, false), pass, DType::f32, true).workspace;
    EXPECT_LE(last, MiB(32));
    EXPECT_GT(first, MiB(128)) << "copies in the other layout have no room";
    // Four channels are 16 bytes; three are not.
    EXPECT_GT(conv_route(shape(8, 3, 64, 224, 7, 2), pass, DType::f32, true).workspace,
              conv_route(shape(8, 4, 64, 224, 7, 2), pass, DType::f32, true).workspace + MiB(5));
  }
}

TEST(ConvolutionRoute, FullPrecisionIsProductsOverWindows) {
  for (const ConvPass pass : kPasses) {
    const ConvShape wide = shape(128, 64, 64, 56, 3);
    const ConvRoute route = conv_route(wide, pass, DType::f32);
    EXPECT_EQ(route.kernel, ConvKernel::products);
    EXPECT_GT(route.parts, 1);
    EXPECT_GT(route.columns, MiB(80));
    EXPECT_LE(route.columns, ops::kConvColumns);
    EXPECT_LE(route.workspace, ops::kConvWorkspace);
    std::int64_t pictures = 0;
    for (std::int64_t i = 0; i < route.parts; ++i) {
      pictures += ops::conv_pictures(wide, route.parts, i);
    }
    EXPECT_EQ(pictures, 128);
    const ConvRoute pixels = conv_route(shape(128, 256, 64, 56, 1), pass, DType::f32);
    EXPECT_EQ(pixels.kernel, ConvKernel::products);
    EXPECT_EQ(pixels.parts, 1);
    EXPECT_EQ(pixels.columns, 0) << "pictures are matrices as they are";
    // Of one picture more windows than there is room for; groups; channels first.
    EXPECT_EQ(conv_route(shape(1, 512, 8, 512, 3), pass, DType::f32).kernel, ConvKernel::library);
    EXPECT_EQ(conv_route(shape(8, 64, 64, 56, 3, 1, 4), pass, DType::f32).kernel,
              ConvKernel::library);
    const ConvRoute first = conv_route(shape(128, 64, 64, 56, 3, 1, 1, false), pass, DType::f32);
    EXPECT_EQ(first.kernel, ConvKernel::library);
    EXPECT_LE(first.workspace, MiB(32));
  }
}

TEST(ConvolutionRoute, PicturesOfFewChannelsAreProductsOverWindows) {
  const ConvShape s = shape(256, 3, 64, 224, 7, 2);
  for (const ConvPass pass : {ConvPass::forward, ConvPass::by_weight}) {
    const ConvRoute route = conv_route(s, pass, DType::bf16);
    EXPECT_EQ(route.kernel, ConvKernel::products);
    EXPECT_EQ(route.weight, Bytes{64} * 152 * 2) << "147 elements, and zeros to whole 16 bytes";
    EXPECT_EQ(route.sums != 0, pass == ConvPass::by_weight);
    EXPECT_LE(route.workspace, ops::kConvWorkspace);
    EXPECT_EQ(conv_route(s, pass, DType::f32, true).kernel, ConvKernel::products);
    // Enough channels, and windows too few to be worth it.
    EXPECT_EQ(conv_route(shape(8, 8, 64, 224, 7, 2), pass, DType::bf16).kernel,
              ConvKernel::library);
    EXPECT_EQ(conv_route(shape(2, 3, 64, 32, 3), pass, DType::bf16).kernel, ConvKernel::library);
  }
  EXPECT_EQ(conv_route(s, ConvPass::by_input, DType::bf16).kernel, ConvKernel::library);
}

TEST(ConvolutionRoute, LargeCopiesAreMadeOfPartsOfTheBatchThatBeginAtWhole16Bytes) {
  for (const ConvShape& s : {shape(1000, 33, 64, 112, 3), shape(1001, 33, 7, 111, 3)}) {
    for (const ConvPass pass : kPasses) {
      const ConvRoute route = conv_route(s, pass, DType::bf16);
      EXPECT_GT(route.parts, 1);
      EXPECT_LE(route.workspace, ops::kConvWorkspace);
      EXPECT_EQ(route.sums != 0, pass == ConvPass::by_weight);
      std::int64_t pictures = 0;
      for (std::int64_t i = 0; i < route.parts; ++i) {
        for (const Shape& all : {s.in_shape(), s.out_shape()}) {
          EXPECT_EQ(pictures * (all.elements() / s.n) * 2 % 16, 0) << all.to_string();
        }
        pictures += ops::conv_pictures(s, route.parts, i, route.unit);
      }
      EXPECT_EQ(pictures, s.n);
    }
  }
}

TEST(ConvolutionRoute, GroupsOfOddChannelsHaveRoomToBePadded) {
  // All channels are whole 16 bytes, those of a group are not.
  EXPECT_GT(conv_route(shape(64, 24, 24, 64, 3, 1, 2), ConvPass::forward, DType::bf16).workspace,
            2 * Bytes{64} * 32 * 64 * 64 * 2);
  // With groups both sides are copied, though only one of them needs it.
  const Bytes in = Bytes{5} * 8 * 48 * 128 * 128 * 2;
  const Bytes out = Bytes{5} * 448 * 128 * 128 * 2;
  for (const ConvPass pass : kPasses) {
    EXPECT_GT(conv_route(shape(5, 376, 448, 128, 1, 1, 8), pass, DType::bf16).workspace, in + out);
    EXPECT_LT(conv_route(shape(5, 47, 448, 128, 1), pass, DType::bf16).workspace, out);
  }
}

TEST(ConvolutionRoute, WorkspaceStaysWithinItsBoundBesideCopiesOfTheWeight) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const ConvPass pass : kPasses) {
      for (const bool nhwc : {false, true}) {
        for (const std::int64_t channels : {1, 3, 8, 33, 512, 2048}) {
          const ConvShape s = shape(64, channels, 2 * channels + 1, 65, 3, 1, 1, nhwc);
          const ConvRoute route = conv_route(s, pass, dtype);
          EXPECT_NE(route.kernel, ConvKernel::plain);
          const Bytes copied = padded_weight(s) * dtype_size(dtype);
          ConvShape fewest = s;
          fewest.n = route.unit;
          const Bytes pictures = ops::conv_copies(fewest, dtype, false) + MiB(25);
          EXPECT_LE(route.workspace,
                    std::max(ops::kConvWorkspace, pictures) + route.weight + route.sums + copied);
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
    EXPECT_EQ(conv_route(shape(2, 53, 53, 9, 3, 2, 53), pass, DType::f16).kernel,
              ConvKernel::depthwise);
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

TEST(ConvolutionRoute, WeightGradientsOfUnevenPaddingInF32AreNotTheLibrarys) {
  ConvShape s = shape(2, 16, 16, 5, 3, 1, 1, /*nhwc=*/false);
  s.padding = {.left = 2};
  s.in_height = s.out_height = s.kernel_height = 1;
  for (const ConvPass pass : kPasses) {
    const bool ours = pass == ConvPass::by_weight;
    EXPECT_EQ(conv_route(s, pass, DType::f32).kernel,
              ours ? ConvKernel::plain : ConvKernel::library);
    EXPECT_EQ(conv_route(s, pass, DType::bf16).kernel, ConvKernel::library);
  }
  // Channels last, as in every plan, it is products.
  s.nhwc = true;
  EXPECT_EQ(conv_route(s, ConvPass::by_weight, DType::f32).kernel, ConvKernel::products);
}

}  // namespace
}  // namespace plimsoll
