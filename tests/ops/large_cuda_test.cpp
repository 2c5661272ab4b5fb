// Shapes that recorded cases are too small for: many blocks, ragged ends, libraries' fast paths.
// The CPU is the reference.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::random_indices;
using test::random_tensor;
using Work = std::function<Tensor(const std::vector<Tensor>&)>;

class LargeOnGpu : public test::OnGpu {
 protected:
  /// The result and the gradients by all floating inputs.
  static std::vector<Tensor> results(const Work& work, const std::vector<Tensor>& inputs,
                                     const Device& device) {
    std::vector<Tensor> moved;
    std::vector<Tensor> sources;
    ops::GradientTape tape;
    for (const Tensor& input : inputs) {
      moved.push_back(input.clone(device, {}));
      if (!is_floating(input.dtype())) continue;
      tape.watch(moved.back());
      sources.push_back(moved.back());
    }
    const Tensor y = work(moved);
    const Tensor weights = random_tensor(y.shape(), 99, y.dtype()).clone(device, {});
    std::vector<Tensor> all = {y};
    for (const Tensor& gradient : tape.gradient(y, sources, weights)) {
      if (gradient.defined()) all.push_back(gradient);
    }
    return all;
  }

  /// In f32 and both 16-bit floats, within `room` times what the dtype allows.
  static void check(const Work& work, const std::vector<Tensor>& inputs, double room = 4) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      SCOPED_TRACE(dtype_name(dtype));
      std::vector<Tensor> narrow;
      for (const Tensor& input : inputs) {
        narrow.push_back(is_floating(input.dtype()) ? ops::cast(input, dtype) : input);
      }
      const auto expected = results(work, narrow, test::op_cases_device());
      const auto actual = results(work, narrow, gpu());
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        const Tensor values = actual[i].clone(test::op_cases_device(), {});
        test::expect_near(test::as_doubles(values), test::as_doubles(expected[i]),
                          room * test::allowed(dtype),
                          i == 0 ? "result" : "gradient " + std::to_string(i - 1));
        const auto again = results(work, narrow, gpu());
        EXPECT_TRUE(test::same_bits(again[i].clone(test::op_cases_device(), {}), values))
            << "result " << i << " twice";
      }
    }
  }
};

TEST_F(LargeOnGpu, Elementwise) {
  check([](const auto& t) { return ops::gelu(ops::mul(t[0], t[1])); },
        {random_tensor({1027, 333}, 1), random_tensor({333}, 2)}, 8);
}

TEST_F(LargeOnGpu, MatmulOfOddExtents) {
  check([](const auto& t) { return ops::matmul(t[0], t[1]); },
        {random_tensor({257, 129}, 1), random_tensor({129, 511}, 2)}, 30);
  check([](const auto& t) { return ops::linear(t[0], t[1], t[2]); },
        {random_tensor({3, 100, 96}, 1), random_tensor({1000, 96}, 2), random_tensor({1000}, 3)},
        30);
  check([](const auto& t) { return ops::linear(t[0], t[1], t[2], {.transposed = true}); },
        {random_tensor({300, 96}, 1), random_tensor({96, 1000}, 2), random_tensor({1000}, 3)}, 30);
}

TEST_F(LargeOnGpu, RowsAreNormalised) {
  for (const std::int64_t features : {768, 769, 3000}) {
    check([](const auto& t) { return ops::layer_norm(t[0], t[1], t[2]); },
          {random_tensor({1031, features}, 1), random_tensor({features}, 2),
           random_tensor({features}, 3)},
          30);
  }
  check([](const auto& t) { return ops::softmax(t[0]); }, {random_tensor({257, 5003}, 1)}, 8);
}

TEST_F(LargeOnGpu, SumsOverEitherEnd) {
  check([](const auto& t) { return ops::sum(t[0], {.axes = {0}}); },
        {random_tensor({4099, 770}, 1)}, 8);
  check([](const auto& t) { return ops::mean(t[0]); }, {random_tensor({999, 1001}, 1)}, 8);
}

TEST_F(LargeOnGpu, EmbeddingAndItsGradient) {
  check([](const auto& t) { return ops::embedding(t[0], t[1]); },
        {random_tensor({1000, 96}, 1), random_indices({64, 64}, 1000, 2)}, 8);
}

TEST_F(LargeOnGpu, LinearCrossEntropyWithManyClasses) {
  check(
      [](const auto& t) { return ops::linear_cross_entropy(t[0], t[1], t[2]); },
      {random_tensor({300, 64}, 1), random_tensor({50257, 64}, 2), random_indices({300}, 50257, 3)},
      30);
}

TEST_F(LargeOnGpu, SelfAttention) {
  for (const std::int64_t tokens : {17, 64, 197, 320}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(::testing::Message() << tokens << (causal ? " causal" : ""));
      check(
          [&](const auto& t) { return ops::self_attention(t[0], {.heads = 2, .causal = causal}); },
          {random_tensor({3, tokens, 3 * 128}, 1)}, 8);
    }
  }
}

TEST_F(LargeOnGpu, Convolutions) {
  const auto conv = [](ops::ConvOptions options) {
    return [options](const std::vector<Tensor>& t) {
      return ops::conv2d(t[0], t[1], Tensor(), options);
    };
  };
  check(conv({.padding = ops::Padding::all(1)}),
        {random_tensor({4, 32, 28, 28}, 1), random_tensor({64, 32, 3, 3}, 2)}, 30);
  check(conv({.stride = {2, 2}, .padding = ops::Padding::all(3)}),
        {random_tensor({4, 3, 64, 64}, 1), random_tensor({64, 3, 7, 7}, 2)}, 30);
  check(conv({.stride = {16, 16}}),
        {random_tensor({8, 3, 224, 224}, 1), random_tensor({768, 3, 16, 16}, 2)}, 60);
}

}  // namespace
}  // namespace plimsoll
