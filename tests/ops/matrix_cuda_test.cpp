// What libraries do on the GPU, on shapes that recorded cases are too small for: those of cuDNN's
// fused kernels, several chunks, batches that broadcast. The CPU in f32 is the reference.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/shape_ops.h>

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
    const auto state = ops::kernels_of("cuda").find(def)->prepare(signature, outputs);
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

  /// The kernel alone, in memory full of NaNs: what lay there before does not matter, and what lies
  /// behind outputs and workspace stays as it is.
  static void check_memory(const std::string& op, const std::vector<Tensor>& inputs,
                           const Attributes& attributes) {
    SCOPED_TRACE(fmt::format("{} of {} in {}", op, inputs.front().shape().to_string(),
                             dtype_name(inputs.front().dtype())));
    constexpr Bytes kBehind = KiB(64);
    constexpr std::uint8_t kBefore = 0xFF;
    const auto expected = run(op, inputs, attributes, gpu());
    std::vector<Tensor> there;
    std::vector<TensorType> types;
    std::vector<ops::TensorView> in;
    for (const Tensor& input : inputs) {
      there.push_back(input.clone(gpu(), {}));
      types.push_back(input.type());
      in.push_back({there.back().raw_mutable_data(), input.type()});
    }
    const ops::OpDef& def = *ops::find_op(op);
    const ops::OpInputs signature(def, types, attributes);
    const auto outputs = def.types(signature);
    const DeviceScope current(gpu());
    const ops::Kernel& kernel = *ops::kernels_of("cuda").find(def);
    const auto state = kernel.prepare(signature, outputs);
    std::vector<Bytes> sizes;
    for (const TensorType& type : outputs) sizes.push_back(type.bytes());
    sizes.push_back(state->workspace);
    std::vector<Tensor> memory;
    for (const Bytes size : sizes) {
      const std::vector<std::uint8_t> before(size + kBehind, kBefore);
      memory.push_back(Tensor::from_values(std::span<const std::uint8_t>(before),
                                           {static_cast<std::int64_t>(before.size())}, gpu()));
    }
    std::vector<ops::TensorView> out;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      out.push_back({memory[i].raw_mutable_data(), outputs[i]});
    }
    kernel.run({.outputs = out,
                .inputs = in,
                .attributes = attributes,
                .state = state.get(),
                .workspace = memory.back().raw_mutable_data(),
                .queue = gpu().queue(kHostStream)});
    gpu().synchronize();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const Tensor after = memory[i].clone(test::op_cases_device(), {});
      const auto* bytes = after.data<std::uint8_t>();
      if (i < outputs.size()) {
        EXPECT_EQ(std::memcmp(bytes, expected[i].raw_data(), sizes[i]), 0) << "output " << i;
      }
      EXPECT_TRUE(std::all_of(bytes + sizes[i], bytes + sizes[i] + kBehind,
                              [](std::uint8_t byte) { return byte == kBefore; }))
          << "behind " << (i < outputs.size() ? "output " + std::to_string(i) : "the workspace");
    }
  }

  /// A case of self_attention. `apart`: how far queries are on one side of zero, and keys on the
  /// other.
  struct SelfAttention {
    std::int64_t n = 1;
    std::int64_t tokens = 0;
    std::int64_t heads = 1;
    std::int64_t size = 64;
    bool causal = false;
    DType dtype = DType::bf16;
    double apart = 0;

    Attributes attributes() const {
      return {{"heads", heads},
              {"causal", causal},
              {"scale", 1 / std::sqrt(static_cast<double>(size))}};
    }
    /// qkv, and for the gradient the results and their gradient; in `dtype` but for the sums.
    std::vector<Tensor> inputs() const {
      const Shape shape = {n, tokens, 3 * heads * size};
      std::vector<double> values = as_doubles(random_tensor(shape, 1));
      const auto features = static_cast<std::size_t>(heads * size);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t part = i / features % 3;
        if (part < 2) values[i] += part == 0 ? apart : -apart;
      }
      const Tensor qkv = from_doubles(values, shape, dtype);
      const auto forward = run("self_attention", {converted(qkv, DType::f32)}, attributes(),
                               test::op_cases_device());
      const Tensor dy = random_tensor(Shape{n, tokens, heads * size}, 2);
      return {qkv, converted(forward[0], dtype), forward[1], converted(dy, dtype)};
    }
  };

  static void check_self_attention(const SelfAttention& c) {
    SCOPED_TRACE(c.causal ? "causal" : "not causal");
    std::vector<Tensor> inputs = c.inputs();
    check("self_attention", {inputs[0]}, c.attributes(), c.dtype);
    check("self_attention_grad", inputs, c.attributes(), c.dtype, 4U);
    if (c.tokens > 256) return;
    inputs.push_back(random_tensor(Shape{c.n, c.heads, c.tokens}, 3));
    check("self_attention_grad", inputs, c.attributes(), c.dtype, 20U);
  }
  static void check_self_attention(std::int64_t n, std::int64_t tokens, std::int64_t heads,
                                   std::int64_t size, bool causal, DType dtype, double apart = 0) {
    check_self_attention({n, tokens, heads, size, causal, dtype, apart});
  }

  /// A case of attention: queries [2, 3, queries, size], with as many heads of keys and values.
  struct Attention {
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t size = 64;
    bool causal = false;
    double scale = 0.125;
    DType dtype = DType::bf16;
    double apart = 0;

    Attributes attributes() const { return {{"causal", causal}, {"scale", scale}}; }
    /// q, k and v, and for the gradient the results and their gradient; in `dtype` but for the
    /// sums.
    std::vector<Tensor> inputs() const {
      const auto shifted = [&](std::int64_t tokens, std::uint64_t seed, double by) {
        const Shape shape = {2, 3, tokens, size};
        std::vector<double> values = as_doubles(random_tensor(shape, seed));
        for (double& value : values) value += by;
        return from_doubles(values, shape, dtype);
      };
      const Tensor q = shifted(queries, 1, apart);
      const Tensor k = shifted(keys, 2, -apart);
      const Tensor v = shifted(keys, 3, 0);
      const auto forward =
          run("attention",
              {converted(q, DType::f32), converted(k, DType::f32), converted(v, DType::f32)},
              attributes(), test::op_cases_device());
      return {q, k, v, converted(forward[0], dtype), forward[1], shifted(queries, 4, 0)};
    }
  };

  static void check_attention(const Attention& c) {
    SCOPED_TRACE(fmt::format("{} keys{}", c.keys, c.causal ? ", causal" : ""));
    const std::vector<Tensor> inputs = c.inputs();
    check("attention", {inputs[0], inputs[1], inputs[2]}, c.attributes(), c.dtype);
    check("attention_grad", inputs, c.attributes(), c.dtype, 16U);
  }
  static void check_attention(std::int64_t queries, std::int64_t keys, std::int64_t size,
                              bool causal, double scale, DType dtype, double apart = 0) {
    check_attention({queries, keys, size, causal, scale, dtype, apart});
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

TEST_F(MatricesOnGpu, ProductsOfRowsFurtherDownAreAsOnTheCpu) {
  // Eager ops give a kernel what begins at a multiple of 16 bytes as it is.
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto per_row = static_cast<std::int64_t>(16 / dtype_size(dtype));
    const Tensor a =
        from_doubles(as_doubles(random_tensor({66, per_row}, 1)), {66, per_row}, dtype);
    const Tensor b =
        from_doubles(as_doubles(random_tensor({66, per_row}, 2)), {66, per_row}, dtype);
    const auto product = [&](const Device& device) {
      const Tensor x = a.clone(device, {}).slice(0, 1, 65);
      const Tensor y = b.clone(device, {}).slice(0, 1, 65);
      const Tensor c = ops::matmul(ops::reshape(x, Shape{8, 8 * per_row}),
                                   ops::reshape(y, Shape{8, 8 * per_row}), {.transpose_b = true});
      return as_doubles(c.clone(test::op_cases_device(), {}));
    };
    test::expect_near(product(gpu()), product(test::op_cases_device()), 8 * test::allowed(dtype),
                      dtype_name(dtype).data());
  }
}

TEST_F(MatricesOnGpu, NumbersThatIntegersDoNotHaveAreAsOnTheCpu) {
  const auto results = [](const Device& device) {
    std::vector<double> all;
    for (const DType dtype : {DType::u8, DType::i32, DType::i64}) {
      const Tensor x = from_doubles({0, 3, 100, 7}, {4}, dtype).clone(device, {});
      for (const Tensor& y : {ops::clip(x, -1e10, 1e10), ops::clip(x, 5, 1e10), ops::shift(x, -1),
                              ops::scale(x, 257), ops::pad(x, {1}, {0}, 1e10)}) {
        const std::vector<double> here = as_doubles(y.clone(test::op_cases_device(), {}));
        all.insert(all.end(), here.begin(), here.end());
      }
    }
    return all;
  };
  EXPECT_EQ(results(gpu()), results(test::op_cases_device()));
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

// Gradients of more tokens than 256 are cuDNN's, on copies with whole blocks of them.
TEST_F(MatricesOnGpu, AttentionOfManyTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      // 320: where 64 are left of whole blocks of 128 keys.
      for (const std::int64_t tokens : {257, 300, 320, 577, 1000}) {
        check_self_attention(1, tokens, 2, 64, causal, dtype);
      }
      for (const std::int64_t size : {32, 80, 128}) {
        check_self_attention(2, 300, 2, size, causal, dtype);
      }
      check_self_attention(2, 320, 2, 128, causal, dtype);
    }
  }
}

TEST_F(MatricesOnGpu, AttentionBetweenManyTokensIsAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    check_attention(300, 520, 64, false, 0.125, dtype);
    check_attention(520, 300, 64, false, 0.125, dtype);
    check_attention(300, 320, 64, false, 0.125, dtype);
    check_attention(512, 300, 32, false, 0.2, dtype);
    check_attention(300, 100, 128, false, 0.1, dtype);
    check_attention(300, 300, 64, true, 0.125, dtype);
    check_attention(300, 520, 64, true, 0.125, dtype);
  }
}

TEST_F(MatricesOnGpu, AttentionIsRightWhereAllScoresAreFarBelowZero) {
  // About -200, so that exp(score) is zero even in f32, and exp(-score) infinite.
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {197, 300, 320}) {
        check_self_attention(2, tokens, 2, 64, causal, dtype, 5);
      }
      for (const std::int64_t size : {32, 128}) {
        check_self_attention(1, 300, 2, size, causal, dtype, 5);
        check_self_attention(1, 320, 2, size, causal, dtype, 5);
      }
    }
    check_attention(300, 520, 64, false, 0.125, dtype, 5);
    check_attention(520, 320, 64, false, 0.125, dtype, 5);
  }
}

TEST_F(MatricesOnGpu, AttentionsGradientStaysWithinItsMemory) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t tokens : {256, 300, 320, 512}) {
        const SelfAttention c{
            .n = 2, .tokens = tokens, .heads = 3, .size = 64, .causal = causal, .dtype = dtype};
        check_memory("self_attention_grad", c.inputs(), c.attributes());
      }
    }
    const Attention c{.queries = 300, .keys = 520, .size = 32, .dtype = dtype};
    check_memory("attention_grad", c.inputs(), c.attributes());
  }
}

TEST_F(MatricesOnGpu, SlowAttentionIsSaidOnce) {
  if (std::getenv("PLIMSOLL_LOG") != nullptr) GTEST_SKIP() << "PLIMSOLL_LOG is set";
  // A causal mask between different numbers of tokens: plain kernels.
  const ops::OpDef& def = *ops::find_op("attention");
  const TensorType q = {DType::bf16, Shape{4, 200, 64}};
  const TensorType k = {DType::bf16, Shape{4, 2000, 64}};
  const std::vector<TensorType> types = {q, k, k};
  const Attributes attributes = {{"causal", true}, {"scale", 0.125}};
  const ops::OpInputs signature(def, types, attributes);
  const DeviceScope current(gpu());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    ops::kernels_of("cuda").find(def)->prepare(signature, def.types(signature));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "plimsoll: warning: [attention] bf16, 1 x 4 heads of 64, 200 queries, 2000 keys, "
            "causal: plain kernels, many times slower than others; use as many queries as keys, or "
            "no causal mask\n");
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
