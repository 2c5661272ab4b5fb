#include <plimsoll/math/index.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/cumulative.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/linalg.h>
#include <plimsoll/ops/operators.h>

#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/recorded.h"

namespace plimsoll::math {
namespace {

using test::complaint;
using test::expect_recorded;
using test::random_indices;
using test::random_tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_index(const std::string& name,
                  const std::function<std::vector<Index>(const nn::Tensors&)>& entries) {
  SCOPED_TRACE(name);
  expect_recorded("index", name,
                  [&](const nn::Tensors& in) { return nn::Tensors{index(in[0], entries(in))}; });
}

TEST(Index, IsPyTorchs) {
  const Range all;
  expect_index("plain", [&](auto&) { return std::vector<Index>{all, 0, Range{.step = 2}}; });
  expect_index("rest", [&](auto&) { return std::vector<Index>{Rest{}, -1}; });
  expect_index("axes", [&](auto&) {
    return std::vector<Index>{1, NewAxis{}, Range{1, -1}, Rest{}, NewAxis{}};
  });
  expect_index("cut", [&](auto&) {
    return std::vector<Index>{Range{-100, 100}, Range{3, 2}, Range{-2}};
  });
  expect_index("backwards", [&](auto&) {
    return std::vector<Index>{all, Range{.step = -2}, Range{1, 4}};
  });
  expect_index("tensor", [&](auto& in) { return std::vector<Index>{all, in[1]}; });
  expect_index("pair", [&](auto& in) { return std::vector<Index>{in[1], in[2]}; });
  expect_index("apart", [&](auto& in) { return std::vector<Index>{in[1], all, in[2]}; });
  expect_index("after_integer", [&](auto& in) { return std::vector<Index>{1, all, in[1]}; });
  expect_index("with_range", [&](auto& in) {
    return std::vector<Index>{in[1], in[2], Range{.begin = 1, .step = 3}};
  });
}

TEST(Index, TakesMasks) {
  expect_index("mask", [](auto& in) { return std::vector<Index>{in[1]}; });
  expect_index("rows", [](auto& in) { return std::vector<Index>{in[1], Range{1, 3}}; });
  expect_index("none", [](auto& in) { return std::vector<Index>{in[1]}; });
  const Tensor columns =
      Tensor::from_values<std::int64_t>({1, 4}, Shape{2}, test::op_cases_device());
  expect_index("mask_and_tensor", [&](auto& in) { return std::vector<Index>{in[1], columns}; });
}

TEST(Index, GathersAndScattersByTuples) {
  const auto along = [](int axis) {
    return [axis](const nn::Tensors& in) { return nn::Tensors{take_along(in[0], in[1], axis)}; };
  };
  expect_recorded("index", "along", along(1));
  expect_recorded("index", "along_last", along(-1));
  expect_recorded("index", "nd",
                  [](const nn::Tensors& in) { return nn::Tensors{gather_nd(in[0], in[1])}; });
  expect_recorded("index", "scatter", [](const nn::Tensors& in) {
    return nn::Tensors{scatter_nd(in[1], in[0], {4, 5, 6})};
  });
}

TEST(Index, FindsDistinctElements) {
  const Unique found = unique(test::recorded_tensor("index", "unique.x"));
  EXPECT_TRUE(test::same_bits(found.values, test::recorded_tensor("index", "unique.values")));
  EXPECT_TRUE(test::same_bits(found.inverse, test::recorded_tensor("index", "unique.inverse")));
  EXPECT_TRUE(test::same_bits(found.counts, test::recorded_tensor("index", "unique.counts")));
  const Unique nothing = unique(Tensor::zeros({0, 3}, DType::i64, test::op_cases_device()));
  EXPECT_EQ(nothing.values.shape(), Shape({0}));
  EXPECT_EQ(nothing.inverse.shape(), Shape({0, 3}));
}

TEST(Index, SaysWhatDoesNotFit) {
  const Tensor x = random_tensor({4, 5}, 1);
  EXPECT_THAT(complaint([&] { index(x, {4}); }), HasSubstr("4 is outside dimension 0"));
  EXPECT_THAT(complaint([&] { index(x, {Range{}, 0, 0}); }), HasSubstr("3 dimensions"));
  EXPECT_THAT(complaint([&] { index(x, {Rest{}, Rest{}}); }), HasSubstr("once"));
  EXPECT_THAT(complaint([&] { index(x, {Range{.step = 0}}); }), HasSubstr("is 0"));
  EXPECT_THAT(complaint([&] { index(x, {x}); }), HasSubstr("i64 or i32"));
  EXPECT_THAT(complaint([&] {
                index(x, {random_indices({2}, 1, 1) == 7, Range{}});
              }),
              HasSubstr("mask"));
  // An element that is outside one dimension must not be taken for one of the next row.
  const Tensor far = Tensor::from_values<std::int64_t>({0, 5}, {1, 2}, test::op_cases_device());
  EXPECT_THAT(complaint([&] { gather_nd(x, far); }), HasSubstr("-1"));
  graph::Tracer tracer;
  const Tensor traced = tracer.input("x", x.type());
  const ops::DispatchScope scope(tracer);
  EXPECT_THAT(complaint([&] { index(traced, {traced == traced}); }), HasSubstr("in a trace"));
}

TEST(Index, CumulativesLeaveTheElementOut) {
  const Tensor x = Tensor::from_values({2.0F, 3.0F, 4.0F}, {3}, test::op_cases_device());
  const auto values = [](const Tensor& t) { return t.to_vector<float>(); };
  EXPECT_THAT(values(ops::cumsum(x, 0, {.exclusive = true})), ElementsAre(0, 2, 5));
  EXPECT_THAT(values(ops::cumsum(x, 0, {.reverse = true, .exclusive = true})),
              ElementsAre(7, 4, 0));
  EXPECT_THAT(values(ops::cumprod(x, 0, {.exclusive = true})), ElementsAre(1, 2, 6));
  EXPECT_THAT(ops::argsort(x, 0, {.descending = true}).to_vector<std::int64_t>(),
              ElementsAre(2, 1, 0));
}

TEST(Index, MatricesSayWhichIsSingular) {
  const Tensor zeros = Tensor::zeros({2, 3, 3}, DType::f64, test::op_cases_device());
  EXPECT_THAT(complaint([&] { ops::solve(zeros, zeros); }), HasSubstr("matrix 0 of 2 is singular"));
  EXPECT_THAT(complaint([&] { ops::cholesky(zeros); }), HasSubstr("not positive definite"));
}

}  // namespace
}  // namespace plimsoll::math
