// How a GPU computes products, as plans without one know it.
#include "ops/product_shape.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/ops/kernel.h>

namespace plimsoll::ops {
namespace {

ProductShape product(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb,
                     DType dtype = DType::bf16) {
  return {.m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb, .dtype = dtype};
}

TEST(ProductRoute, WhatTheLibraryIsFastAtIsLeftToIt) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    // GPT-2's layers and their gradients.
    EXPECT_TRUE(product_route(product(16384, 2304, 768, false, true, dtype)).plain());
    EXPECT_TRUE(product_route(product(16384, 768, 3072, false, false, dtype)).plain());
    EXPECT_TRUE(product_route(product(3072, 768, 16384, true, false, dtype)).plain());
    EXPECT_TRUE(product_route(product(2304, 768, 16384, true, false, dtype)).plain());
  }
  // Nobody has rows of m or k here.
  EXPECT_TRUE(product_route(product(4099, 4096, 4096, false, true)).plain());
  EXPECT_TRUE(product_route(product(4096, 4096, 4099, true, false)).plain());
}

TEST(ProductRoute, RowsOfOddNumbersOfElementsAreCopied) {
  const ProductRoute all = product_route(product(4099, 4099, 4099, false, true));
  EXPECT_TRUE(all.copy_a && all.copy_b && all.copy_c);
  EXPECT_EQ(all.m, 4099);
  EXPECT_EQ(all.n, 4104);
  EXPECT_EQ(all.k, 4104);
  EXPECT_EQ(all.a, align_up(Bytes{4099} * 4104 * 2, 256));
  EXPECT_EQ(all.b, Bytes{4104} * 4104 * 2);
  // f32 is computed as fast from anywhere; TF32 wants 16 bytes.
  EXPECT_TRUE(product_route(product(4099, 4099, 4099, false, true, DType::f32)).plain());
  ProductShape tf32 = product(4099, 4099, 4099, false, true, DType::f32);
  tf32.tf32 = true;
  EXPECT_EQ(product_route(tf32).n, 4100);
}

TEST(ProductRoute, FewResultsOfManyTermsAreCutIntoSlices) {
  // MLP-Mixer's weight gradients.
  const ProductRoute route = product_route(product(384, 196, 98304, true, false));
  EXPECT_GE(route.slices, 8);
  EXPECT_EQ(route.n, 200);
  EXPECT_TRUE(route.copy_b);
  EXPECT_FALSE(route.copy_a);
  EXPECT_FALSE(route.copy_c);
}

TEST(ProductRoute, SlicesCoverEveryTermOnceAndMemoryIsBounded) {
  std::mt19937_64 random(7);
  const auto extent = [&](double most) {
    return static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution<double>(0, std::log(most))(random)));
  };
  for (int i = 0; i < 20000; ++i) {
    ProductShape s =
        product(extent(2e5), extent(2e5), extent(2e6), random() % 2 == 0, random() % 2 == 0);
    s.dtype = std::vector{DType::bf16, DType::f16, DType::f32, DType::f64}[random() % 4];
    s.tf32 = s.dtype == DType::f32 && random() % 2 == 0;
    s.batches = random() % 2 == 0 ? 1 : extent(512);
    s.bias = random() % 2 == 0;
    const ProductRoute r = product_route(s);
    ASSERT_GE(r.m, s.m);
    ASSERT_GE(r.n, s.n);
    ASSERT_GE(r.k, s.k);
    ASSERT_LE(r.total(), MiB(256));
    // What is not copied is as it was given.
    if (!r.copy_a) ASSERT_TRUE(r.m == s.m || r.sliced()) << i;
    if (!r.copy_a || !r.copy_b) ASSERT_EQ(r.k, s.k) << i;
    if (!r.copy_b) ASSERT_EQ(r.n, s.n) << i;
    if (r.sliced()) {
      ASSERT_EQ(r.slices * r.slice + r.rest, r.k);
      ASSERT_GT(r.slice, 0);
      ASSERT_GE(r.partials, static_cast<Bytes>(r.slices * r.m * r.n) * 4);
    } else {
      ASSERT_EQ(r.copy_c, r.m != s.m || r.n != s.n);
    }
  }
}

TEST(ProductRoute, AnOpsWorkspaceIsThatOfItsRoute) {
  const OpDef& def = *find_op("matmul");
  const std::vector<TensorType> types = {{DType::bf16, Shape{98304, 384}},
                                         {DType::bf16, Shape{98304, 196}}};
  const Attributes attributes = {{"transpose_a", true}, {"transpose_b", false}};
  const OpInputs inputs(def, types, attributes);
  EXPECT_EQ(def.workspace(inputs, def.types(inputs)),
            product_route(product(384, 196, 98304, true, false)).total());
  // Nothing beyond the slot where nothing is copied.
  const std::vector<TensorType> plain = {{DType::bf16, Shape{16384, 768}},
                                         {DType::bf16, Shape{768, 3072}}};
  const Attributes none = {{"transpose_a", false}, {"transpose_b", false}};
  const OpInputs simple(def, plain, none);
  EXPECT_LE(def.workspace(simple, def.types(simple)), kWorkspaceSlot - kWorkspaceReserve);
}

}  // namespace
}  // namespace plimsoll::ops
