// How a GPU computes products, as plans without one know it.
#include <plimsoll/ops/product_shape.h>

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
    EXPECT_TRUE(product_route(product(768, 3072, 25088, true, false, dtype)).plain());
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
  EXPECT_EQ(all.b, align_up(Bytes{4104} * 4104 * 2, 256));
  // f32 is computed as fast from anywhere; TF32 wants 16 bytes.
  EXPECT_TRUE(product_route(product(4099, 4099, 4099, false, true, DType::f32)).plain());
  ProductShape tf32 = product(4099, 4099, 4099, false, true, DType::f32);
  tf32.tf32 = true;
  EXPECT_EQ(product_route(tf32).n, 4100);
}

TEST(ProductRoute, LongSumsOfFewResultsAreLeftToTheLibrary) {
  // MLP-Mixer's weight gradients: the library splits sums itself, but wants whole rows in 16 bits.
  const ProductRoute padded = product_route(product(384, 196, 98304, true, false));
  EXPECT_EQ(padded.n, 200);
  EXPECT_TRUE(padded.copy_b && padded.copy_c);
  EXPECT_FALSE(padded.copy_a);
  EXPECT_TRUE(product_route(product(384, 196, 98304, true, false, DType::f32)).plain());
  // Nothing beyond the slot: its partial sums are part of what it may take.
  const ProductRoute full = product_route(product(768, 3072, 16384, true, false, DType::f32));
  EXPECT_EQ(full.total(), kWorkspaceSlot - kWorkspaceReserve);
}

TEST(ProductRoute, VectorsAndAFewResultsAreNeverCopied) {
  for (const std::int64_t batches : {1, 28}) {
    for (const bool tf32 : {false, true}) {
      for (const std::int64_t n : {1, 2, 13, 31}) {
        for (const std::int64_t m : {1, 2}) {
          ProductShape s = product(m, n, 70051, false, true, tf32 ? DType::f32 : DType::bf16);
          s.tf32 = tf32;
          s.batches = batches;
          EXPECT_TRUE(product_route(s).plain()) << m << " " << n;
          std::swap(s.m, s.n);
          EXPECT_TRUE(product_route(s).plain()) << n << " " << m;
        }
      }
      // One result more than a few, and long sums in several batches, which cannot be split.
      ProductShape s = product(2, 640, 44096, true, false, tf32 ? DType::f32 : DType::bf16);
      s.tf32 = tf32;
      s.batches = 12;
      EXPECT_EQ(product_route(s).copied(), true);
    }
  }
}

TEST(ProductRoute, InTf32ALargeTransposedFactorIsTurnedRound) {
  ProductShape s = product(768, 3072, 16384, true, false, DType::f32);
  EXPECT_TRUE(product_route(s).plain());
  s.tf32 = true;
  const ProductRoute route = product_route(s);
  EXPECT_TRUE(route.flip_a && route.copy_a);
  EXPECT_FALSE(route.copy_b || route.copy_c);
  // Not where there is little to compute, or a lies well.
  EXPECT_FALSE(
      product_route({.m = 3072, .n = 8, .k = 16384, .transpose_a = true, .tf32 = true}).flip_a);
  s.transpose_a = false;
  EXPECT_TRUE(product_route(s).plain());
}

TEST(ProductRoute, LargeCopiesAreMadeInParts) {
  // A language model's head and its gradients: logits of 1.5 GiB.
  const ProductRoute logits = product_route(product(16384, 50257, 768, false, true));
  EXPECT_TRUE(logits.copy_b && logits.copy_c);
  EXPECT_FALSE(logits.copy_a);
  EXPECT_TRUE(logits.rows < 16384 || logits.columns < 50257);
  EXPECT_GE(logits.rows, 512);
  EXPECT_GE(logits.columns, 512);
  const ProductRoute by_weight = product_route(product(50257, 768, 16384, true, false));
  EXPECT_TRUE(by_weight.copy_a && by_weight.copy_c);
  EXPECT_LT(by_weight.rows, 50257);
  const ProductRoute by_x = product_route(product(16384, 768, 50257, false, false));
  EXPECT_TRUE(by_x.copy_a && by_x.copy_b);
  EXPECT_LT(by_x.rows, 16384);
  // The other way round: columns at a time.
  const ProductRoute across = product_route(product(768, 50257, 16384, true, false));
  EXPECT_LT(across.columns, 50257);
  EXPECT_EQ(across.rows, 768);
  for (const ProductRoute& route : {logits, by_weight, by_x, across}) {
    EXPECT_LE(route.total(), MiB(192));
  }
}

TEST(ProductRoute, BatchesWithLargeCopiesAreTakenAFewAtATime) {
  const OpDef& def = *find_op("matmul");
  const std::vector<TensorType> types = {{DType::bf16, Shape{96, 2049, 2047}},
                                         {DType::bf16, Shape{96, 2047, 2049}}};
  const Attributes attributes = {{"transpose_a", false}, {"transpose_b", false}};
  const OpInputs inputs(def, types, attributes);
  const Products products = products_of_matmul(inputs, def.types(inputs));
  EXPECT_LT(products.shape.batches, 96);
  EXPECT_GT(products.shape.batches, 1);
  EXPECT_TRUE(product_route(products.shape).copied());
}

TEST(ProductRoute, MemoryIsBoundedAndWhatIsNotCopiedIsAsGiven) {
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
    ASSERT_LE(r.rows, s.m);
    ASSERT_LE(r.columns, s.n);
    ASSERT_TRUE(r.rows == s.m || r.columns == s.n);
    ASSERT_GE(r.m, r.rows);
    ASSERT_GE(r.n, r.columns);
    ASSERT_GE(r.k, s.k);
    ASSERT_LE(r.total(), MiB(256));
    // What is not copied is as it was given.
    ASSERT_TRUE(r.copy_a || r.m == r.rows) << i;
    ASSERT_TRUE((r.copy_a && r.copy_b) || r.k == s.k) << i;
    ASSERT_TRUE(r.copy_b || r.n == r.columns) << i;
    // Also the last rows and columns, where they are fewer.
    const std::int64_t rows = s.m % r.rows;
    const std::int64_t columns = s.n % r.columns;
    const bool more = r.m != r.rows || r.n != r.columns || padded_rows(s, r, rows) != rows ||
                      padded_columns(s, r, columns) != columns;
    ASSERT_TRUE(r.copy_c || !more) << i;
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
