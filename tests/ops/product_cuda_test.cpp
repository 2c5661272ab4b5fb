// Products of shapes that the library alone is slow with, and attention in f32 by products, with
// and without TF32. The CPU in f32 is the reference.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <plimsoll/base/half.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/kernel.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/product_shape.h>

#include "support/on_gpu.h"
#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using ops::Attributes;
using test::as_doubles;
using test::from_doubles;
using test::random_tensor;

class ProductsOnGpu : public test::OnGpu {
 protected:
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

  static Attributes with_tf32(Attributes attributes) {
    attributes.set("tf32", true);
    return attributes;
  }

  /// Twice for the same bits, the second time into memory that is all NaNs. `share` of the largest
  /// value may be off, besides the dtype's own rounding.
  static void check(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, DType dtype, double share) {
    SCOPED_TRACE(fmt::format("{} {} of {} in {}", op, attributes.to_string(),
                             inputs.front().shape().to_string(), dtype_name(dtype)));
    std::vector<Tensor> narrow;
    std::vector<Tensor> wide;
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) {
      narrow.push_back(from_doubles(as_doubles(input), input.shape(), dtype));
      wide.push_back(from_doubles(as_doubles(narrow.back()), input.shape(), DType::f32));
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
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const Tensor back = again[i].clone(test::op_cases_device(), {});
      EXPECT_TRUE(test::same_bits(actual[i], back)) << "output " << i << " twice";
      test::expect_near(as_doubles(actual[i]), as_doubles(expected[i]),
                        4 * test::allowed(dtype) + share, fmt::format("output {}", i));
    }
    Bytes planned = ops::kWorkspaceSlot - ops::kWorkspaceReserve;
    if (def.workspace != nullptr) planned = std::max(planned, def.workspace(signature, outputs));
    EXPECT_LE(state->workspace, planned);
  }

  static void check_attention(std::int64_t n, std::int64_t heads, std::int64_t queries,
                              std::int64_t keys, std::int64_t size, std::int64_t value_size,
                              bool causal, bool tf32) {
    const double share = tf32 ? 4e-3 : 2e-5;
    Attributes attributes = {{"causal", causal}, {"scale", 1 / std::sqrt(double(size))}};
    if (tf32) attributes = with_tf32(attributes);
    const std::vector<Tensor> forward = {random_tensor({n, heads, queries, size}, 1),
                                         random_tensor({n, heads, keys, size}, 2),
                                         random_tensor({n, heads, keys, value_size}, 3)};
    check("attention", forward, attributes, DType::f32, share);
    const auto results = run("attention", forward, attributes, test::op_cases_device());
    std::vector<Tensor> backward = forward;
    backward.insert(backward.end(), results.begin(), results.end());
    backward.push_back(random_tensor(results[0].shape(), 4));
    check("attention_grad", backward, attributes, DType::f32, share);
    // Also where the loss depends on the logarithms of sums.
    backward.push_back(random_tensor(results[1].shape(), 5));
    check("attention_grad", backward, attributes, DType::f32, share);
  }
};

TEST_F(ProductsOnGpu, AnyShapeIsAsOnTheCpu) {
  struct Shape3 {
    std::int64_t m, n, k;
  };
  for (const Shape3 s :
       {Shape3{384, 196, 9830}, Shape3{131, 65, 257}, Shape3{10, 84, 6000}, Shape3{7, 5, 20011},
        Shape3{1003, 1001, 999}, Shape3{64, 64, 4096}, Shape3{1, 1, 5001}, Shape3{515, 1030, 66}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Tensor a = random_tensor(ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 3);
        const Tensor b = random_tensor(tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 4);
        const Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
        for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
          check("matmul", {a, b}, attributes, dtype, 4e-6);
        }
        check("matmul", {a, b}, with_tf32(attributes), DType::f32, 2e-3);
      }
    }
  }
}

TEST_F(ProductsOnGpu, SumsThatTheLibrarySplitsAreAsOnTheCpu) {
  // Around the shortest sum that may be split, vectors, a few results, and blocks of results that
  // do not fill all multiprocessors.
  struct Shape3 {
    std::int64_t m, n, k;
  };
  for (const Shape3 s : {Shape3{65, 33, 127}, Shape3{65, 33, 128}, Shape3{7, 9, 5003},
                         Shape3{8, 8, 5003}, Shape3{1, 63, 9001}, Shape3{453, 1, 1303},
                         Shape3{384, 768, 2048}, Shape3{768, 384, 2049}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Tensor a = random_tensor(ta ? Shape{s.k, s.m} : Shape{s.m, s.k}, 3);
        const Tensor b = random_tensor(tb ? Shape{s.n, s.k} : Shape{s.k, s.n}, 4);
        const Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
        check("matmul", {a, b}, attributes, DType::bf16, 4e-6);
        check("matmul", {a, b}, attributes, DType::f32, 4e-6);
        check("matmul", {a, b}, with_tf32(attributes), DType::f32, 2e-3);
      }
    }
  }
}

TEST_F(ProductsOnGpu, SumsInPlaceHaveTheSameBitsEveryTime) {
  // A weight gradient in f32 whose partial sums the library adds in place, block after block.
  const DeviceScope current(gpu());
  const Tensor x = random_tensor({4096, 768}, 3).clone(gpu(), {});
  const Tensor dy = random_tensor({4096, 3072}, 4).clone(gpu(), {});
  const Attributes attributes = {{"transpose_a", true}, {"transpose_b", false}};
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return ops::call(*ops::find_op("matmul"), std::vector<Tensor>{a, b}, attributes)[0].clone(
        test::op_cases_device(), {});
  };
  for (const auto& [a, b] : {std::pair{x, dy}, std::pair{dy, x}}) {
    const Tensor first = product(a, b);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::same_bits(product(a, b), first)) << i;
  }
}

TEST_F(ProductsOnGpu, ResultsInPartsAreAsOnTheCpu) {
  // Copies of several hundred MiB, so that rows or columns are taken at a time. The sums are exact
  // in every dtype, and known without computing them elsewhere.
  struct Case {
    std::int64_t m, n, k;
    bool ta, tb;
  };
  const DeviceScope current(gpu());
  for (const Case& c : {Case{16387, 50257, 520, false, true}, Case{50257, 1003, 2056, true, false},
                        Case{1031, 50257, 2056, true, false}}) {
    const ops::ProductShape shape{.m = c.m,
                                  .n = c.n,
                                  .k = c.k,
                                  .transpose_a = c.ta,
                                  .transpose_b = c.tb,
                                  .dtype = DType::bf16};
    SCOPED_TRACE(fmt::format("[{},{}] times [{},{}]", c.m, c.k, c.k, c.n));
    const ops::ProductRoute route = ops::product_route(shape);
    EXPECT_TRUE(route.copied());
    EXPECT_TRUE(route.rows < c.m || route.columns < c.n);
    // a(i, 0) = i % 3, b(0, j) = j % 5, all else zero.
    const auto filled = [&](std::int64_t extent, bool first, std::int64_t of) {
      std::vector<double> values(static_cast<std::size_t>(extent * c.k), 0.0);
      for (std::int64_t i = 0; i < extent; ++i) {
        values[static_cast<std::size_t>(first ? i : i * c.k)] = static_cast<double>(i % of);
      }
      return from_doubles(values, first ? Shape{c.k, extent} : Shape{extent, c.k}, DType::bf16)
          .clone(gpu(), {});
    };
    const Tensor a = filled(c.m, c.ta, 3);
    const Tensor b = filled(c.n, !c.tb, 5);
    const Tensor product = ops::call(*ops::find_op("matmul"), std::vector<Tensor>{a, b},
                                     {{"transpose_a", c.ta}, {"transpose_b", c.tb}})[0]
                               .clone(test::op_cases_device(), {});
    const auto* values = static_cast<const BFloat16*>(product.raw_data());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const auto expected = static_cast<float>((i % 3) * (j % 5));
        if (static_cast<float>(values[i * c.n + j]) != expected) ++wrong;
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(ProductsOnGpu, ATransposedFactorInTf32IsAsOnTheCpu) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1031, 2048, 3077},
                                std::array<std::int64_t, 3>{1024, 4096, 4096}}) {
    for (const bool tb : {false, true}) {
      const ops::ProductShape shape{
          .m = m, .n = n, .k = k, .transpose_a = true, .transpose_b = tb, .tf32 = true};
      EXPECT_TRUE(ops::product_route(shape).flip_a);
      check("matmul", {random_tensor({k, m}, 3), random_tensor(tb ? Shape{n, k} : Shape{k, n}, 4)},
            with_tf32({{"transpose_a", true}, {"transpose_b", tb}}), DType::f32, 2e-3);
    }
  }
}

TEST_F(ProductsOnGpu, BatchesOfAnyShapeAreAsOnTheCpu) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
        const Shape a = ta ? Shape{5, 333, 301} : Shape{5, 301, 333};
        const Shape b = tb ? Shape{5, 303, 333} : Shape{5, 333, 303};
        const Shape one = tb ? Shape{303, 333} : Shape{333, 303};
        check("matmul", {random_tensor(a, 1), random_tensor(b, 2)}, attributes, dtype, 4e-6);
        check("matmul", {random_tensor(a, 1), random_tensor(one, 2)}, attributes, dtype, 4e-6);
      }
    }
  }
}

TEST_F(ProductsOnGpu, BatchesThatBeginAtOddElementsAreAsOnTheCpu) {
  // Computed in copies, one batch after another, each of which begins at an odd element.
  const ops::ProductShape one{.m = 2877, .n = 961, .k = 515, .dtype = DType::bf16};
  ASSERT_TRUE(ops::product_route(one).copy_c);
  check("matmul", {random_tensor({3, 1, 2877, 515}, 1), random_tensor({3, 2, 515, 961}, 2)},
        {{"transpose_a", false}, {"transpose_b", false}}, DType::bf16, 4e-6);
}

TEST_F(ProductsOnGpu, ABiasIsAddedHoweverAProductIsComputed) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const auto& [rows, in, out] :
         {std::array<std::int64_t, 3>{4001, 1003, 1001}, std::array<std::int64_t, 3>{33, 20008, 65},
          std::array<std::int64_t, 3>{33, 20011, 65}}) {
      check("linear",
            {random_tensor({rows, in}, 5), random_tensor({out, in}, 6), random_tensor({out}, 7)},
            {}, dtype, 4e-6);
    }
  }
}

TEST_F(ProductsOnGpu, AttentionInF32IsAsOnTheCpu) {
  for (const bool tf32 : {false, true}) {
    for (const bool causal : {false, true}) {
      check_attention(2, 3, 300, 300, 64, 64, causal, tf32);
      check_attention(1, 2, 1100, 1100, 40, 40, causal, tf32);
      check_attention(3, 1, 65, 190, 33, 17, causal, tf32);
      check_attention(1, 1, 130, 2500, 64, 64, causal, tf32);
      check_attention(2, 2, 1, 5, 8, 8, causal, tf32);
      check_attention(1, 1, 1, 1, 1, 1, causal, tf32);
    }
    // More queries than keys see fewer than all.
    check_attention(1, 2, 190, 65, 32, 32, false, tf32);
    check_attention(1, 2, 190, 65, 32, 32, true, tf32);
  }
}

TEST_F(ProductsOnGpu, SelfAttentionInF32IsAsOnTheCpu) {
  for (const bool tf32 : {false, true}) {
    // More heads than batches, and the other way round.
    for (const auto& [n, heads, tokens, size] :
         {std::array<std::int64_t, 4>{2, 5, 333, 24}, std::array<std::int64_t, 4>{7, 2, 197, 64},
          std::array<std::int64_t, 4>{1, 12, 1024, 64}}) {
      for (const bool causal : {false, true}) {
        Attributes attributes = {{"heads", heads}, {"causal", causal}, {"scale", 0.1}};
        if (tf32) attributes = with_tf32(attributes);
        const double share = tf32 ? 4e-3 : 2e-5;
        const Tensor qkv = random_tensor({n, tokens, 3 * heads * size}, 1);
        check("self_attention", {qkv}, attributes, DType::f32, share);
        const auto results = run("self_attention", {qkv}, attributes, test::op_cases_device());
        check("self_attention_grad",
              {qkv, results[0], results[1], random_tensor({n, tokens, heads * size}, 2)},
              attributes, DType::f32, share);
      }
    }
  }
}

TEST_F(ProductsOnGpu, Tf32RoundsFactorsAndF32DoesNot) {
  // 1 + 2^-12 is 1 in TF32.
  const std::vector<double> ones(64 * 64, 1.0);
  const std::vector<double> more(64 * 64, 1.0 + std::ldexp(1, -12));
  const Tensor a = from_doubles(ones, {64, 64}, DType::f32);
  const Tensor b = from_doubles(more, {64, 64}, DType::f32);
  const Attributes attributes = {{"transpose_a", false}, {"transpose_b", false}};
  const double full = as_doubles(run("matmul", {a, b}, attributes, gpu())[0])[0];
  EXPECT_EQ(full, 64 + 64 * std::ldexp(1, -12));
  const double tf32 = as_doubles(run("matmul", {a, b}, with_tf32(attributes), gpu())[0])[0];
  EXPECT_NEAR(tf32, 64, 64 * std::ldexp(1, -10));
}

}  // namespace
}  // namespace plimsoll
