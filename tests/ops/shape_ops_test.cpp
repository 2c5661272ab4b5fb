#include <plimsoll/ops/shape_ops.h>

#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <plimsoll/ops/tape.h>

#include "support/op_cases.h"
#include "support/op_checks.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::complaint;
using test::independent_of_threads;
using test::random_indices;
using test::random_tensor;
using test::same_bits;

TEST(ShapeOps, TransposesOfManySizesMoveEveryElement) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::u8}) {
    for (const Shape& shape : {Shape{3, 65, 130}, Shape{2, 128, 64}, Shape{1, 500, 7},
                               Shape{5, 3, 333}, Shape{4, 16, 16}, Shape{1, 257, 259}}) {
      const Tensor x = test::from_doubles(
          [&] {
            std::vector<double> values(static_cast<std::size_t>(shape.elements()));
            for (std::size_t i = 0; i < values.size(); ++i)
              values[i] = static_cast<double>(i % 251);
            return values;
          }(),
          shape, dtype);
      for (const std::vector<std::int64_t>& order :
           {std::vector<std::int64_t>{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
        const std::array<int, 3> as_view = {static_cast<int>(order[0]), static_cast<int>(order[1]),
                                            static_cast<int>(order[2])};
        EXPECT_TRUE(same_bits(ops::transpose(x, order), x.permute(as_view).contiguous()))
            << shape.to_string() << dtype_name(dtype);
      }
    }
  }
}

TEST(ShapeOps, IntegersArePaddedWithTheNearestTheyHave) {
  const auto padded = [](DType dtype, double value) {
    return as_doubles(ops::pad(test::from_doubles({7}, {1}, dtype), {1}, {1}, value));
  };
  const double most = 2147483647;
  EXPECT_EQ(padded(DType::u8, -1), (std::vector<double>{0, 7, 0}));
  EXPECT_EQ(padded(DType::u8, 300), (std::vector<double>{255, 7, 255}));
  EXPECT_EQ(padded(DType::i32, 1e10), (std::vector<double>{most, 7, most}));
  EXPECT_EQ(padded(DType::i32, NAN), (std::vector<double>{0, 7, 0}));
}

TEST(ShapeOps, MovingDoesNotDependOnThreads) {
  const Tensor x = random_tensor({64, 96, 65}, 1);
  const Tensor ids = random_indices({500}, 96, 2);
  EXPECT_TRUE(independent_of_threads([&] {
    return std::vector<Tensor>{ops::transpose(x, {0, 2, 1}),
                               ops::transpose(x, {1, 0, 2}),
                               ops::pad(x, {1, 0, 3}, {0, 2, -1}, 0.5),
                               ops::slice(x, 1, 3, 90, 4),
                               ops::concat({x, x}, 2),
                               ops::gather(x, ids, 1),
                               ops::broadcast_to(ops::slice(x, 1, 0, 1), {64, 96, 65})};
  }));
}

TEST(ScatterAdd, AddsInOrderOfPositionWithAnyNumberOfThreads) {
  for (const Shape& updates : {Shape{3000, 200}, Shape{3000, 40}}) {
    const std::int64_t features = updates[1];
    const Tensor ids = random_indices({3000}, 50, 3);
    const Tensor x = random_tensor(updates, 4);
    EXPECT_TRUE(independent_of_threads([&] {
      return std::vector<Tensor>{ops::scatter_add(x, ids, Shape{60, features})};
    }));
    const auto at = ids.to_vector<std::int64_t>();
    const auto from = x.to_vector<float>();
    std::vector<float> expected(static_cast<std::size_t>(60 * features));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto row = static_cast<std::size_t>(at[i / static_cast<std::size_t>(features)]);
      expected[row * static_cast<std::size_t>(features) + i % static_cast<std::size_t>(features)] +=
          from[i];
    }
    EXPECT_EQ(ops::scatter_add(x, ids, Shape{60, features}).to_vector<float>(), expected);
  }
}

TEST(ScatterAdd, RoundsSixteenBitSumsOnce) {
  std::vector<double> ones(1000, 1.0);
  const Tensor x = test::from_doubles(ones, {1000, 1}, DType::bf16);
  const Tensor ids = random_indices({1000}, 1, 5);
  // Added in bf16, it would stop at 256.
  EXPECT_EQ(as_doubles(ops::scatter_add(x, ids, {1, 1})), std::vector<double>{1000.0});
}

TEST(Tile, RepeatsAlongEveryDimensionAndSumsBack) {
  const Tensor x = random_tensor({2, 3}, 6, DType::f64);
  ops::GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::tile(x, {3, 2});
  ASSERT_EQ(y.shape(), (Shape{6, 6}));
  const auto from = as_doubles(x);
  const auto to = as_doubles(y);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(to[i], from[i / 6 % 2 * 3 + i % 6 % 3]);
  EXPECT_EQ(as_doubles(tape.gradient(y, x)), std::vector<double>(6, 6.0));
  EXPECT_EQ(ops::tile(x, {0, 2}).shape(), (Shape{0, 6}));
  EXPECT_EQ(ops::tile(x, {1, 1}).id(), x.id());
}

TEST(Stack, PutsTensorsAlongANewDimension) {
  const Tensor a = random_tensor({2, 3}, 7);
  const Tensor b = random_tensor({2, 3}, 8);
  EXPECT_EQ(ops::stack({a, b}, 1).shape(), (Shape{2, 2, 3}));
  EXPECT_TRUE(same_bits(ops::slice(ops::stack({a, b}, -1), 2, 1), ops::reshape(b, Shape{2, 3, 1})));
  EXPECT_EQ(ops::stack({a}).shape(), (Shape{1, 2, 3}));
}

TEST(Slice, CountsFromTheEndAndGivesXForAllOfIt) {
  const Tensor x = random_tensor({4, 6}, 9);
  EXPECT_TRUE(same_bits(ops::slice(x, -1, -3), x.slice(1, 3)));
  EXPECT_TRUE(same_bits(ops::slice(x, 0, 1, -1), x.slice(0, 1, 3)));
  EXPECT_EQ(ops::slice(x, 0, 0).id(), x.id());
}

TEST(Embedding, GivesRowsAndAddsTheirGradients) {
  const Tensor table = random_tensor({5, 3}, 10, DType::f64);
  const Tensor ids =
      Tensor::from_values<std::int32_t>({4, 1, 1, 0, 1, 4}, {2, 3}, test::op_cases_device());
  ops::GradientTape tape;
  tape.watch(table);
  const Tensor y = ops::embedding(table, ids);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(as_doubles(tape.gradient(y, table)),
            (std::vector<double>{1, 1, 1, 3, 3, 3, 0, 0, 0, 0, 0, 0, 2, 2, 2}));
}

TEST(ShapeOps, ErrorsNameTheOpTheShapesAndTheValue) {
  const Tensor x = random_tensor({2, 3}, 11);
  const Tensor y = random_tensor({2, 4}, 12);
  const Tensor i = random_indices({2}, 2, 13);
  const auto at = [](std::initializer_list<std::int64_t> ids) {
    return Tensor::from_values<std::int64_t>(ids, {static_cast<std::int64_t>(ids.size())},
                                             test::op_cases_device());
  };
  EXPECT_EQ(complaint([&] {
              ops::transpose(x, {0, 0});
            }),
            "[transpose] the order must name each dimension once (f32 [2,3]; order=[0,0])");
  EXPECT_NE(complaint([&] { ops::transpose(x, {0}); }), "");
  EXPECT_NE(complaint([&] { ops::transpose(x, {0, 5}); }), "");
  EXPECT_EQ(complaint([&] {
              ops::concat({x, y}, 0);
            }),
            "[concat] shapes [2,3] and [2,4] differ in more than axis 0 (f32 [2,3], f32 [2,4]; "
            "axis=0)");
  EXPECT_EQ(complaint([&] {
              ops::concat({x, i}, 0);
            }),
            "[concat] inputs have different dtypes; cast one of them: cast(x, dtype) (f32 [2,3], "
            "i64 [2]; axis=0)");
  EXPECT_EQ(complaint([&] { ops::concat({x}, 2); }),
            "[concat] there is no axis 2 among 2 dimensions (f32 [2,3]; axis=2)");
  EXPECT_EQ(complaint([&] { ops::concat({}, 0); }), "[concat] there are no tensors");
  EXPECT_EQ(complaint([&] { ops::concat({x, Tensor()}, 0); }), "[concat] an input is undefined");
  EXPECT_EQ(complaint([&] { ops::stack({x, y}); }), "[stack] shapes [2,3] and [2,4] differ");
  EXPECT_EQ(complaint([&] { ops::stack({x}, 4); }), "[stack] [2,3] cannot have a new dimension 4");
  EXPECT_EQ(complaint([&] {
              ops::split(x, {1, 1}, 1);
            }),
            "[split] the extents leave 1 elements of axis 1 (f32 [2,3]; extents=[1,1] axis=1)");
  EXPECT_NE(complaint([&] { ops::split(x, {4}, 1); }), "");
  EXPECT_NE(complaint([&] { ops::split(x, {-1, 4}, 1); }), "");
  EXPECT_EQ(complaint([&] { ops::slice(x, 1, 2, 5); }),
            "[slice] from 2 to 5 by 1 is not within 3 elements (f32 [2,3]; axis=1 begin=2 end=5 "
            "step=1)");
  EXPECT_NE(complaint([&] { ops::slice(x, 1, 0, 3, 0); }), "");
  EXPECT_NE(complaint([&] { ops::slice(x, 3, 0, 3); }), "");
  EXPECT_NE(complaint([&] { ops::slice(x, 1, -7, 3); }), "");
  EXPECT_NE(complaint([&] { ops::pad(x, {1}, {1}); }), "");
  EXPECT_EQ(
      complaint([&] {
        ops::pad(x, {0, -2}, {0, -2});
      }),
      "[pad] dimension 1 cannot be padded so (f32 [2,3]; before=[0,-2] after=[0,-2] value=0)");
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(complaint([&] { ops::pad(x, {huge, 0}, {huge, 0}); }), "");
  EXPECT_NE(complaint([&] { ops::tile(x, {huge, 1}); }), "");
  EXPECT_NE(complaint([&] { ops::tile(x, {-1, 1}); }), "");
  EXPECT_NE(complaint([&] { ops::tile(x, {1}); }), "");
  EXPECT_EQ(complaint([&] {
              ops::gather(x, at({0, 3}), 1);
            }),
            "[gather] index 3 at position 1 is outside dimension 1, which has 3 elements");
  EXPECT_EQ(complaint([&] { ops::gather(x, at({-1}), 0); }),
            "[gather] index -1 at position 0 is outside dimension 0, which has 2 elements");
  EXPECT_NE(complaint([&] { ops::gather(x, x, 0); }).find("must be i64 or i32"), std::string::npos);
  EXPECT_NE(complaint([&] { ops::scatter_add(x, at({0, 2}), {2, 3}); }), "");
  EXPECT_NE(complaint([&] { ops::scatter_add(x, at({0}), {2, 3}); }), "");
  EXPECT_EQ(complaint([&] { ops::embedding(random_tensor({3}, 1), i); }),
            "[embedding] the table must be [count, features], not f32 [3]");
  EXPECT_NE(complaint([&] { ops::one_hot(i, -1); }), "");
  EXPECT_NE(complaint([&] { ops::reshape(x, std::vector<std::int64_t>{-1, 4}); }), "");
  EXPECT_NE(complaint([&] { ops::reshape(x, std::vector<std::int64_t>{-1, -1}); }), "");
  EXPECT_NE(complaint([&] { ops::reshape(x, std::vector<std::int64_t>{huge, huge, -1}); }), "");
}

}  // namespace
}  // namespace plimsoll
