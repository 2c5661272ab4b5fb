// What libraries do on the GPU, and passes over large rows, on shapes that recorded cases are too
// small for: several chunks, batches that broadcast. The CPU in f32 is the reference.
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/shape_ops.h>

#include "support/matrices_on_gpu.h"

namespace plimsoll {
namespace {

using ops::Attributes;
using test::as_doubles;
using test::from_doubles;
using test::MatricesOnGpu;
using test::random_tensor;

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

TEST_F(MatricesOnGpu, TurningAndGatesOfLargeRowsAreAsOnTheCpu) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const DType table = dtype == DType::f64 ? DType::f64 : DType::f32;
    for (const bool interleaved : {false, true}) {
      for (const std::int64_t size : {64, 128, 30}) {
        const std::int64_t half = size / 2;
        check("rope",
              {random_tensor({3, 301, 20 * size}, 1), random_tensor({301, half}, 2, table),
               random_tensor({301, half}, 3, table)},
              {{"size", size},
               {"heads", std::int64_t{16}},
               {"interleaved", interleaved},
               {"inverse", false}},
              dtype, 6U);
      }
    }
    for (std::int64_t gate = 0; gate < 5; ++gate) {
      for (const std::int64_t features : {2048, 1001}) {
        const Attributes attributes = {{"gate", gate}};
        const Tensor x = random_tensor({700, 2 * features}, 4);
        check("glu", {x}, attributes, dtype);
        check("glu_grad", {x, random_tensor({700, features}, 5)}, attributes, dtype);
      }
    }
  }
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
