#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/transformer.h>
#include <plimsoll/nn/upsampling.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/linalg.h>
#include <plimsoll/ops/shape_ops.h>

#include "support/random_cases.h"
#include "support/random_functions.h"

namespace plimsoll::test {
namespace {

using nn::Tensors;
using Settings = RandomSettings;

nn::DepthwiseConv2DOptions depthwise2d(Settings& s, nn::Pair& size) {
  nn::DepthwiseConv2DOptions o;
  o.multiplier = s.next();
  size = s.pair();
  o.stride = s.pair();
  const nn::Pair padding = s.pair();
  o.padding = nn::WindowPadding{padding.down, padding.across};
  o.dilation = s.pair();
  o.bias = s.flag();
  return o;
}

nn::DepthwiseConv1DOptions depthwise1d(Settings& s, std::int64_t& size) {
  nn::DepthwiseConv1DOptions o;
  o.multiplier = s.next();
  size = s.next();
  o.stride = s.next();
  o.padding = s.next();
  o.dilation = s.next();
  o.bias = s.flag();
  return o;
}

void check_more_convolutions() {
  expect_function("depthwise1d", [](Settings& s) {
    std::int64_t size = 0;
    const auto options = depthwise1d(s, size);
    return nn::DepthwiseConv1D(size, options);
  });
  expect_function("depthwise2d", [](Settings& s) {
    nn::Pair size = 1;
    const auto options = depthwise2d(s, size);
    return nn::DepthwiseConv2D(size, options);
  });
  expect_function("separable1d", [](Settings& s) {
    const std::int64_t out = s.next();
    std::int64_t size = 0;
    const auto options = depthwise1d(s, size);
    return nn::SeparableConv1D(out, size, options);
  });
  expect_function("separable2d", [](Settings& s) {
    const std::int64_t out = s.next();
    nn::Pair size = 1;
    const auto options = depthwise2d(s, size);
    return nn::SeparableConv2D(out, size, options);
  });
  expect_function("conv_same", [](Settings& s) {
    const std::int64_t out = s.next();
    const nn::Pair size = s.pair();
    nn::Conv2DOptions o;
    o.padding = nn::kSame;
    o.dilation = s.pair();
    return nn::Conv2D(out, size, o);
  });
  expect_function("conv_causal", [](Settings& s) {
    const std::int64_t out = s.next();
    const std::int64_t size = s.next();
    nn::Conv1DOptions o;
    o.padding = nn::kCausal;
    o.dilation = s.next();
    return nn::Conv1D(out, size, o);
  });
}

void check_more_layers() {
  expect_function("gated_feed_forward", [](Settings& s) {
    const std::int64_t features = s.next();
    return nn::GatedFeedForward(features, s.next());
  });
  expect_function("bag_weighed", [](Settings& s) {
    const std::int64_t rows = s.next();
    return nn::EmbeddingBag(rows, s.next(), {.mode = nn::EmbeddingBagOptions::Mode::sum});
  });
  expect_function("nearest", [](Settings& s) { return nn::Upsample2D(s.next()); });
  for (int i = 0; i < kRandomCount; ++i) {
    expect_recorded("random_functions", fmt::format("batch_norm_evaluation.{}", i), nn::BatchNorm(),
                    kRandomOptions, /*training=*/false);
  }
  expect_function("scatter_add", [](Settings& s) {
    const auto extents = s.rest();
    return [extents](const Tensors& in) {
      const Shape shape{std::span<const std::int64_t>(extents)};
      return Tensors{ops::scatter_add(in[0], in[1], shape)};
    };
  });
  expect_function("broadcast", [](Settings& s) {
    const auto extents = s.rest();
    return [extents](const Tensors& in) {
      return Tensors{ops::broadcast_to(in[0], Shape{std::span<const std::int64_t>(extents)})};
    };
  });
}

/// Which have no 16-bit kernels; a mixed-precision policy has them run in f32, as here.
template <typename Function>
auto in_f32(Function function) {
  return [function](const Tensors& in) {
    Tensors wide;
    for (const Tensor& x : in) wide.push_back(ops::cast(x, DType::f32));
    return Tensors{function(wide)};
  };
}

void check_matrices() {
  expect_function("solve", [](Settings&) {
    return in_f32([](const Tensors& in) { return ops::solve(in[0], in[1]); });
  });
  expect_function("triangular_solve", [](Settings& s) {
    const bool upper = s.flag();
    return in_f32([upper](const Tensors& in) {
      return ops::triangular_solve(in[0], in[1], {.upper = upper});
    });
  });
  expect_function("cholesky", [](Settings&) {
    return in_f32([](const Tensors& in) { return ops::cholesky(in[0]); });
  });
  expect_function("singular_values", [](Settings&) {
    return in_f32([](const Tensors& in) { return ops::svd(in[0]).s; });
  });
}

}  // namespace

std::vector<RandomFamily> random_modules() {
  return {{"MoreConvolutions", check_more_convolutions},
          {"MoreLayers", check_more_layers},
          {"Matrices", check_matrices, /*on_gpus=*/false}};
}

}  // namespace plimsoll::test
