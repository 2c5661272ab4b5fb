// What libraries do on the GPU, on shapes that recorded cases are too small for: those of cuDNN's
// fused kernels, several chunks, batches that broadcast. The CPU in f32 is the reference.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using ops::Attributes;
using test::as_doubles;
using test::from_doubles;
using test::random_tensor;

class MatricesOnGpu : public test::OnGpu {
 protected:
  static Tensor converted(const Tensor& t, DType dtype) {
    if (!is_floating(t.dtype()) || t.dtype() == dtype) return t;
    return from_doubles(as_doubles(t), t.shape(), dtype);
  }

  static std::vector<Tensor> run(const std::string& op, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes, const Device& device) {
    std::vector<Tensor> there;
    for (const Tensor& input : inputs) there.push_back(input.clone(device, {}));
    std::vector<Tensor> back;
    for (const Tensor& output : ops::call(*ops::find_op(op), there, attributes)) {
      back.push_back(output.clone(test::op_cases_device(), {}));
    }
    return back;
  }

  /// `op` on inputs rounded to `dtype`, but for those that `keep` names; `share` of the largest
  /// value may be off, besides the dtype's own rounding. Twice for the same bits, the second time
  /// into memory that is all NaNs.
  static void check(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, DType dtype, std::uint32_t keep = 0,
                    double share = 0) {
    SCOPED_TRACE(
        fmt::format("{} of {} in {}", op, inputs.front().shape().to_string(), dtype_name(dtype)));
    std::vector<Tensor> narrow;
    std::vector<Tensor> wide;
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      narrow.push_back((keep >> i & 1U) != 0 ? inputs[i] : converted(inputs[i], dtype));
      wide.push_back(converted(narrow.back(), dtype == DType::f64 ? DType::f64 : DType::f32));
      types.push_back(narrow.back().type());
    }
    const auto expected = run(op, wide, attributes, test::op_cases_device());
    const auto actual = run(op, narrow, attributes, gpu());
    const ops::OpDef& def = *ops::find_op(op);
    const ops::OpInputs signature(def, types, attributes);
    const auto outputs = def.types(signature);
    const DeviceScope current(gpu());
    const auto state = ops::kernels_of(DeviceKind::cuda).find(def)->prepare(signature, outputs);
    const auto again = test::run_poisoned(def, attributes, narrow, gpu(), {.state = state.get()});
    ASSERT_EQ(actual.size(), expected.size());
    ASSERT_EQ(again.size(), actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const Tensor back = again[i].clone(test::op_cases_device(), {});
      EXPECT_TRUE(test::same_bits(actual[i], back)) << "output " << i << " twice";
      test::expect_near(as_doubles(actual[i]), as_doubles(expected[i]),
                        4 * test::allowed(dtype) + share, fmt::format("output {}", i));
    }
    // What it takes is what a plan without a GPU has for it.
    Bytes planned = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
    if (def.workspace != nullptr) planned = std::max(planned, def.workspace(signature, outputs));
    EXPECT_LE(state->workspace, planned);
    RecordProperty(fmt::format("workspace of {}", op), std::to_string(state->workspace));
  }

  /// `apart`: how far queries are on one side of zero, and keys on the other.
  static void check_self_attention(std::int64_t n, std::int64_t tokens, std::int64_t heads,
                                   std::int64_t size, bool causal, DType dtype, double apart = 0) {
    SCOPED_TRACE(causal ? "causal" : "not causal");
    const Shape shape = {n, tokens, 3 * heads * size};
    std::vector<double> values = as_doubles(random_tensor(shape, 1));
    const auto features = static_cast<std::size_t>(heads * size);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t part = i / features % 3;
      if (part < 2) values[i] += part == 0 ? apart : -apart;
    }
    const Tensor qkv = from_doubles(values, shape, dtype);
    const Tensor dy = random_tensor(Shape{n, tokens, heads * size}, 2);
    const Attributes attributes = {
        {"heads", heads}, {"causal", causal}, {"scale", 1 / std::sqrt(static_cast<double>(size))}};
    check("self_attention", {qkv}, attributes, dtype);
    const auto forward =
        run("self_attention", {converted(qkv, DType::f32)}, attributes, test::op_cases_device());
    check("self_attention_grad", {qkv, forward[0], forward[1], dy}, attributes, dtype, 4U);
    if (tokens > 256) return;
    const Tensor d_sums = random_tensor(Shape{n, heads, tokens}, 3);
    check("self_attention_grad", {qkv, forward[0], forward[1], dy, d_sums}, attributes, dtype, 20U);
  }

  /// Queries [2, 3, queries, size], with as many heads of keys and values.
  static void check_attention(std::int64_t queries, std::int64_t keys, std::int64_t size,
                              bool causal, double scale, DType dtype) {
    SCOPED_TRACE(fmt::format("{} keys{}", keys, causal ? ", causal" : ""));
    const Tensor q = converted(random_tensor({2, 3, queries, size}, 1), dtype);
    const Tensor k = converted(random_tensor({2, 3, keys, size}, 2), dtype);
    const Tensor v = converted(random_tensor({2, 3, keys, size}, 3), dtype);
    const Attributes attributes = {{"causal", causal}, {"scale", scale}};
    check("attention", {q, k, v}, attributes, dtype);
    const auto forward = run(
        "attention", {converted(q, DType::f32), converted(k, DType::f32), converted(v, DType::f32)},
        attributes, test::op_cases_device());
    check("attention_grad", {q, k, v, forward[0], forward[1], random_tensor(q.shape(), 4)},
          attributes, dtype, 16U);
  }
};

TEST_F(MatricesOnGpu, MultiplyAsOnTheCpu) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
        const auto pair = [&](std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
          if (ta) std::swap(a[a.size() - 1], a[a.size() - 2]);
          if (tb) std::swap(b[b.size() - 1], b[b.size() - 2]);
          check("matmul",
                {random_tensor(Shape(std::span<const std::int64_t>(a)), 3),
                 random_tensor(Shape(std::span<const std::int64_t>(b)), 4)},
                attributes, dtype, 0, 2e-6);
        };
        pair({129, 257}, {257, 65});
        pair({768, 1000}, {1000, 768});
        pair({5, 1, 33, 17}, {1, 7, 17, 9});
        pair({3, 1, 2, 8, 16}, {4, 1, 16, 8});
        pair({6, 31, 24}, {24, 40});
        pair({16, 40}, {3, 40, 8});
      }
    }
    check("linear",
          {random_tensor({3, 50, 96}, 5), random_tensor({130, 96}, 6), random_tensor({130}, 7)}, {},
          dtype, 0, 2e-6);
  }
}

TEST_F(MatricesOnGpu, MoreBatchesThanAGridIsDeep) {
  check("matmul", {random_tensor({70001, 2, 3}, 1), random_tensor({70001, 3, 2}, 2)},
        {{"transpose_a", false}, {"transpose_b", false}}, DType::f32);
}

TEST_F(MatricesOnGpu, AttentionIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      check_self_attention(2, 128, 3, 64, causal, dtype);
      check_self_attention(3, 197, 2, 64, causal, dtype);
      check_self_attention(1, 65, 2, 96, causal, dtype);
      check_self_attention(1, 200, 1, 128, causal, dtype);
      check_self_attention(2, 40, 2, 24, causal, dtype);
    }
  }
  check_self_attention(2, 100, 2, 64, true, DType::f32);
  check_self_attention(1, 70, 1, 160, false, DType::f32);
}

TEST_F(MatricesOnGpu, AttentionOfFewTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {1, 15, 16, 17, 64, 127, 197, 200, 255, 256}) {
        check_self_attention(2, tokens, 2, 64, causal, dtype);
      }
      check_self_attention(1, 197, 3, 32, causal, dtype);
      // More heads than a GPU has multiprocessors, as many of them at a time as fit one.
      for (const std::int64_t tokens : {33, 197, 256}) {
        check_self_attention(80, tokens, 4, 64, causal, dtype);
      }
      check_attention(33, 80, 64, causal, 0.125, dtype);
      check_attention(80, 33, 64, causal, 0.125, dtype);
      check_attention(200, 17, 32, causal, -0.2, dtype);
      check_attention(2, 256, 64, causal, 0.125, dtype);
    }
  }
}

TEST_F(MatricesOnGpu, AttentionIsRightWhereAllScoresAreFarBelowZero) {
  // About -200, so that exp(score) is zero even in f32.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) check_self_attention(2, 197, 2, 64, causal, dtype, 5);
  }
}

TEST_F(MatricesOnGpu, AttentionTakesBatchesInParts) {
  // More than 128 MiB of scores in 16 bits.
  check_self_attention(6, 1024, 12, 64, true, DType::bf16);
}

TEST_F(MatricesOnGpu, ApartQueriesKeysAndValuesAreAsTogether) {
  const Shape shape = {2, 3, 80, 64};
  check("attention", {random_tensor(shape, 1), random_tensor(shape, 2), random_tensor(shape, 3)},
        {{"causal", true}, {"scale", 0.125}}, DType::bf16);
  check(
      "attention",
      {random_tensor(shape, 1), random_tensor({2, 3, 33, 64}, 2), random_tensor({2, 3, 33, 64}, 3)},
      {{"causal", false}, {"scale", 0.125}}, DType::bf16);
  check("attention",
        {random_tensor({2, 3, 33, 64}, 1), random_tensor(shape, 2), random_tensor(shape, 3)},
        {{"causal", true}, {"scale", 0.125}}, DType::bf16);
}

TEST_F(MatricesOnGpu, LinearCrossEntropyGoesThroughChunks) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t classes : {515, 64}) {
      Tensor labels = test::random_indices({2100}, classes, 9);
      check("linear_cross_entropy",
            {random_tensor({2100, 72}, 8), random_tensor({classes, 72}, 10), labels},
            {{"with_dx", true}, {"with_dweight", true}}, dtype, 0, 1e-5);
    }
  }
}

TEST_F(MatricesOnGpu, ConvolutionsAreAsOnTheCpu) {
  struct Case {
    std::int64_t channels, out, kernel, stride, padding, dilation, groups;
    bool nhwc;
  };
  for (const Case& c : {Case{64, 32, 3, 1, 1, 1, 1, true}, Case{64, 128, 1, 2, 0, 1, 1, true},
                        Case{3, 64, 7, 2, 3, 1, 1, true}, Case{32, 32, 3, 2, 1, 1, 4, true},
                        Case{16, 16, 3, 1, 1, 1, 16, true}, Case{16, 24, 3, 1, 2, 2, 1, true},
                        Case{16, 8, 3, 1, 1, 1, 1, false}, Case{3, 96, 8, 8, 0, 1, 1, true}}) {
    const std::int64_t side = 24;
    const std::int64_t to = (side + 2 * c.padding - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
    const Shape x = c.nhwc ? Shape{2, side, side, c.channels} : Shape{2, c.channels, side, side};
    const Shape y = c.nhwc ? Shape{2, to, to, c.out} : Shape{2, c.out, to, to};
    const Shape w = {c.out, c.channels / c.groups, c.kernel, c.kernel};
    const auto integers = [](std::int64_t value, std::size_t count) {
      return std::vector<std::int64_t>(count, value);
    };
    Attributes attributes = {{"stride", integers(c.stride, 2)},
                             {"padding", integers(c.padding, 4)},
                             {"dilation", integers(c.dilation, 2)},
                             {"groups", c.groups},
                             {"nhwc", c.nhwc}};
    const auto shaped = [&](const Shape& shape) {
      Attributes with = attributes;
      with.set("shape", std::vector<std::int64_t>(shape.begin(), shape.end()));
      return with;
    };
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      check("conv2d", {random_tensor(x, 1), random_tensor(w, 2)}, attributes, dtype, 0, 2e-6);
      check("conv2d", {random_tensor(x, 1), random_tensor(w, 2), random_tensor({c.out}, 3)},
            attributes, dtype, 0, 2e-6);
      check("conv2d_transpose", {random_tensor(y, 4), random_tensor(w, 2)}, shaped(x), dtype, 0,
            2e-6);
      check("conv2d_weight_grad", {random_tensor(x, 1), random_tensor(y, 4)}, shaped(w), dtype, 0,
            4e-6);
    }
  }
}

}  // namespace
}  // namespace plimsoll
