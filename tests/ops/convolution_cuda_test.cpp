// Convolutions on the GPU in both layouts, all passes, with the CPU as reference.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/convolution_shape.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::random_tensor;

struct Kind {
  std::int64_t in;
  std::int64_t out;
  std::int64_t height;
  std::int64_t width;
  std::int64_t size;
  std::int64_t stride;
  std::int64_t groups;
};

class ConvolutionsOnGpu : public test::OnGpu {
 protected:
  static Tensor run(const std::string& op, const std::vector<Tensor>& inputs,
                    const ops::Attributes& attributes, const Device& device) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(input.clone(device, {}));
    return ops::call(*ops::find_op(op), there, attributes)[0].clone(test::op_cases_device(), {});
  }

  static void check(const std::string& op, const std::vector<Tensor>& inputs,
                    const ops::Attributes& attributes, double share) {
    const Tensor expected = run(op, inputs, attributes, test::op_cases_device());
    const Tensor actual = run(op, inputs, attributes, gpu());
    test::expect_near(test::as_doubles(actual), test::as_doubles(expected), share, op);
    EXPECT_TRUE(test::same_bits(actual, run(op, inputs, attributes, gpu()))) << op << " twice";
  }

  /// Of random pictures and weights.
  static void check_passes(const Shape& in, const Shape& weight, DType dtype,
                           const ops::Attributes& attributes) {
    const Tensor x = ops::cast(random_tensor(in, 1), dtype);
    const Tensor w = ops::cast(random_tensor(weight, 2), dtype);
    const Shape out = run("conv2d", {x, w}, attributes, test::op_cases_device()).shape();
    const Tensor dy = ops::cast(random_tensor(out, 4), dtype);
    const double share = 4 * test::allowed(dtype);
    check("conv2d", {x, w}, attributes, share);
    ops::Attributes with = attributes;
    with.set("shape", ops::to_integers(in));
    check("conv2d_transpose", {dy, w}, with, share);
    with.set("shape", ops::to_integers(weight));
    check("conv2d_weight_grad", {x, dy}, with, share);
  }
};

TEST_F(ConvolutionsOnGpu, AllPassesAreAsOnTheCpu) {
  constexpr std::int64_t kBatch = 3;
  for (const Kind& k :
       {Kind{3, 16, 33, 30, 7, 2, 1}, Kind{4, 8, 20, 20, 3, 1, 1}, Kind{32, 64, 14, 17, 3, 1, 1},
        Kind{64, 32, 14, 14, 1, 1, 1}, Kind{5, 7, 12, 12, 3, 1, 1}, Kind{32, 32, 16, 16, 3, 2, 4},
        Kind{24, 24, 15, 15, 3, 1, 24}, Kind{16, 64, 8, 8, 2, 2, 1},
        // Windows copied out for products in parts of the batch.
        Kind{128, 24, 96, 80, 5, 1, 1}}) {
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
      for (const bool tf32 : {false, true}) {
        const bool nhwc = layout == Layout::channels_last;
        SCOPED_TRACE(fmt::format("{}x{} of {}x{} to {} by {}, stride {}, groups {}, {}{}", k.in,
                                 k.height, k.width, k.size, k.out, k.size, k.stride, k.groups,
                                 nhwc ? "nhwc" : "nchw", tf32 ? ", tf32" : ""));
        ops::Attributes attributes = ops::conv_attributes({.stride = {k.stride, k.stride},
                                                           .padding = ops::Padding::all(k.size / 2),
                                                           .groups = k.groups,
                                                           .layout = layout});
        if (tf32) attributes.set("tf32", true);
        const Shape in = ops::picture_shape(nhwc, kBatch, k.in, k.height, k.width);
        const Tensor x = random_tensor(in, 1);
        const Tensor w = random_tensor({k.out, k.in / k.groups, k.size, k.size}, 2);
        const Tensor bias = random_tensor({k.out}, 3);
        const Tensor dy =
            random_tensor(run("conv2d", {x, w}, attributes, test::op_cases_device()).shape(), 4);
        const double share = tf32 ? 4e-3 : 4 * test::allowed(DType::f32);
        check("conv2d", {x, w}, attributes, share);
        check("conv2d", {x, w, bias}, attributes, share);
        ops::Attributes with = attributes;
        with.set("shape", ops::to_integers(in));
        check("conv2d_transpose", {dy, w}, with, share);
        with.set("shape", ops::to_integers(w.shape()));
        check("conv2d_weight_grad", {x, dy}, with, share);
      }
    }
  }
}

TEST_F(ConvolutionsOnGpu, OddAndUnequalGroupsAreAsOnTheCpu) {
  for (const Kind& k :
       {Kind{94, 112, 15, 17, 1, 1, 2}, Kind{72, 72, 14, 14, 3, 1, 3},
        Kind{96, 24, 12, 13, 3, 2, 3}, Kind{48, 80, 9, 9, 5, 1, 2}, Kind{24, 3, 11, 10, 3, 1, 3},
        // More to copy than a part of the batch may have.
        Kind{40, 560, 192, 200, 3, 1, 2}, Kind{6, 606, 191, 189, 2, 1, 6}}) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      SCOPED_TRACE(fmt::format("{}x{} of {} to {} channels, {} groups, by {}, {}", k.height,
                               k.width, k.in, k.out, k.groups, k.size, dtype_name(dtype)));
      const ops::Attributes attributes =
          ops::conv_attributes({.stride = {k.stride, k.stride},
                                .padding = ops::Padding::all(k.size / 2),
                                .groups = k.groups,
                                .layout = Layout::channels_last});
      const Shape in = ops::picture_shape(true, k.out > 500 ? 6 : 3, k.in, k.height, k.width);
      check_passes(in, {k.out, k.in / k.groups, k.size, k.size}, dtype, attributes);
    }
  }
}

TEST_F(ConvolutionsOnGpu, DepthwiseOnesAreAsOnTheCpu) {
  for (const Kind& k :
       {Kind{96, 96, 19, 23, 7, 1, 96}, Kind{8, 8, 17, 33, 5, 2, 8}, Kind{40, 40, 9, 31, 4, 1, 40},
        Kind{300, 300, 14, 14, 3, 1, 300}, Kind{4, 4, 40, 7, 7, 1, 4},
        Kind{16, 16, 15, 20, 3, 2, 16}, Kind{12, 12, 21, 18, 7, 2, 12}, Kind{8, 8, 16, 16, 3, 3, 8},
        // Channels that are no multiple of 4.
        Kind{5, 5, 17, 23, 3, 1, 5}, Kind{33, 33, 15, 14, 5, 2, 33}, Kind{3, 3, 30, 31, 7, 1, 3},
        Kind{14, 14, 12, 19, 4, 3, 14}}) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      for (const std::int64_t dilation : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} channels of {}x{} by {}, stride {}, dilation {}, {}", k.in,
                                 k.height, k.width, k.size, k.stride, dilation, dtype_name(dtype)));
        const ops::Attributes attributes =
            ops::conv_attributes({.stride = {k.stride, k.stride},
                                  .padding = ops::Padding::all(k.size / 2),
                                  .dilation = {dilation, 1},
                                  .groups = k.groups,
                                  .layout = Layout::channels_last});
        const Shape in = ops::picture_shape(true, 5, k.in, k.height, k.width);
        check_passes(in, {k.out, 1, k.size, k.size}, dtype, attributes);
      }
    }
  }
}

TEST_F(ConvolutionsOnGpu, DepthwiseOnesWithOtherStridesDownAndAcrossAreAsOnTheCpu) {
  struct Strides {
    std::int64_t down;
    std::int64_t across;
    std::int64_t left;
  };
  // Runs of a row begin at whole strides: one or none of a row's pixels lies before them.
  for (const Strides& s : {Strides{1, 2, 0}, Strides{1, 2, 1}, Strides{2, 1, 2}, Strides{3, 2, 2},
                           Strides{2, 2, 3}, Strides{2, 3, 1}}) {
    for (const std::int64_t width : {8, 13, 17}) {
      SCOPED_TRACE(
          fmt::format("strides {}x{}, {} before, {} wide", s.down, s.across, s.left, width));
      const ops::Attributes attributes =
          ops::conv_attributes({.stride = {s.down, s.across},
                                .padding = {.top = 1, .bottom = 2, .left = s.left, .right = 1},
                                .groups = 8,
                                .layout = Layout::channels_last});
      const Shape in = ops::picture_shape(true, 2, 8, 11, width);
      check_passes(in, {8, 1, 4, 5}, DType::f32, attributes);
    }
  }
}

}  // namespace
}  // namespace plimsoll
