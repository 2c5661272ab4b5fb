#include <plimsoll/nn/embedding_bag.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/nn/drop_path.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/random.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::nn {
namespace {

using test::complaint;
using test::expect_recorded;
using ::testing::Each;
using ::testing::HasSubstr;
using Mode = EmbeddingBagOptions::Mode;

TEST(EmbeddingBags, EqualPyTorchs) {
  expect_recorded("bags", "sum", EmbeddingBag(7, 4, {.mode = Mode::sum}));
  expect_recorded("bags", "mean", EmbeddingBag(7, 4));
  expect_recorded("bags", "max", EmbeddingBag(7, 4, {.mode = Mode::max}));
  expect_recorded("bags", "weights", EmbeddingBag(7, 4, {.mode = Mode::sum}));
  expect_recorded("bags", "one", EmbeddingBag(1, 1, {.mode = Mode::max}));
  for (const auto& [name, mode] : {std::pair("sum_padded", Mode::sum),
                                   {"mean_padded", Mode::mean},
                                   {"max_padded", Mode::max}}) {
    expect_recorded("bags", name, EmbeddingBag(7, 4, {.mode = mode, .padding_id = 0}));
  }
}

TEST(EmbeddingBags, AreTrainedInsideOfAPlan) {
  for (const Mode mode : {Mode::sum, Mode::mean, Mode::max}) {
    test::expect_trains(EmbeddingBag(9, 4, {.mode = mode, .padding_id = 0}),
                        {test::random_indices({6, 5}, 9, 1)});
  }
}

TEST(EmbeddingBags, MistakesAreNamed) {
  const Tensor ids = test::random_indices({2, 3}, 4, 1);
  const Tensor weights = test::random_tensor({2, 3}, 1);
  EXPECT_THAT(complaint([&] { EmbeddingBag(4, 2)(test::random_indices({3}, 4, 1)); }),
              HasSubstr("[EmbeddingBag] ids are i64 [3]; it takes [n, bag]"));
  EXPECT_THAT(complaint([&] {
                EmbeddingBag(4, 2)(Tensors{ids, weights});
              }),
              HasSubstr("they are for the mode sum"));
}

TEST(DropPaths, WholeElementsGo) {
  const Tensor x = ops::full({2000, 3}, 3, DType::f32, test::op_cases_device());
  const ops::RandomScope scope({.seed = 1});
  const auto y = drop_path(x, 0.25).to_vector<float>();
  double zeros = 0;
  for (std::size_t i = 0; i < y.size(); i += 3) {
    EXPECT_EQ(y[i], y[i + 1]);
    EXPECT_EQ(y[i], y[i + 2]);
    EXPECT_TRUE(y[i] == 0 || y[i] == 4) << y[i];
    zeros += y[i] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(zeros, 500, 80);
  DropPath layer(0.5);
  layer.eval();
  EXPECT_THAT(layer(x).to_vector<float>(), Each(3.0F));
  EXPECT_THAT(complaint([] { DropPath(1); }), HasSubstr("the rate is 1"));
}

}  // namespace
}  // namespace plimsoll::nn
