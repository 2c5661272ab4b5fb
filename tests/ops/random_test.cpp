// Random draws: their distribution, and what they do and do not depend on.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/plan/run_graph.h>

#include "backend/cpu/random_stream.h"
#include "support/op_cases.h"

namespace plimsoll {
namespace {

using test::as_doubles;
using test::op_cases_device;
using testing::HasSubstr;

std::vector<double> normals(std::int64_t count, const ops::RandomKey& key, int skip = 0,
                            DType dtype = DType::f32) {
  const ops::RandomScope scope(key);
  for (int i = 0; i < skip; ++i) ops::RandomScope::next_id();
  return as_doubles(ops::random_normal({dtype, Shape{count}}, 0, 1, op_cases_device()));
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double skew = 0;
  double kurtosis = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  const auto count = static_cast<double>(values.size());
  for (const double v : values) m.mean += v / count;
  for (const double v : values) {
    const double d = v - m.mean;
    m.variance += d * d / count;
    m.skew += d * d * d / count;
    m.kurtosis += d * d * d * d / count;
  }
  m.skew /= std::pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  return m;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const Moments x = moments(a);
  const Moments y = moments(b);
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += (a[i] - x.mean) * (b[i] - y.mean);
  return total / static_cast<double>(a.size()) / std::sqrt(x.variance * y.variance);
}

TEST(Random, NormalsHaveTheMomentsOfANormal) {
  const ops::RandomScope scope({.seed = 7});
  const Tensor x = ops::random_normal({DType::f32, {400, 1000}}, 3, 2, op_cases_device());
  const Moments m = moments(as_doubles(x));
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.variance, 4, 0.05);
  EXPECT_NEAR(m.skew, 0, 0.02);
  EXPECT_NEAR(m.kurtosis, 3, 0.05);
}

TEST(Random, NormalsLieWhereANormalsDo) {
  std::vector<double> values = normals(200'000, {.seed = 3});
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    worst = std::max(worst, std::abs(share - (static_cast<double>(i) + 0.5) / 200'000));
  }
  EXPECT_LT(worst, 1.95 / std::sqrt(200'000.0));  // Kolmogorov and Smirnov at 0.1%
}

TEST(Random, UniformsFillTheirRangeEvenly) {
  const ops::RandomScope scope({.seed = 5});
  const Tensor x = ops::random_uniform({DType::f32, {320'000}}, -1, 3, op_cases_device());
  std::vector<int> bins(64);
  for (const double v : as_doubles(x)) {
    ASSERT_GE(v, -1);
    ASSERT_LE(v, 3);
    ++bins[std::min<std::size_t>(63, static_cast<std::size_t>((v + 1) * 16))];
  }
  double chi = 0;
  for (const int count : bins) chi += (count - 5000.0) * (count - 5000.0) / 5000.0;
  EXPECT_LT(chi, 63 + 4 * std::sqrt(2 * 63.0));
  EXPECT_GT(chi, 63 - 4 * std::sqrt(2 * 63.0));
}

TEST(Random, EveryPartOfTheKeyAndThePlaceGiveOtherDraws) {
  const ops::RandomKey key = {.seed = 1, .step = 2, .micro_batch = 3};
  const auto base = normals(20'000, key);
  const std::vector<std::vector<double>> others = {
      normals(20'000, {.seed = 2, .step = 2, .micro_batch = 3}),
      normals(20'000, {.seed = 1ULL << 32 | 1, .step = 2, .micro_batch = 3}),
      normals(20'000, {.seed = 1, .step = 3, .micro_batch = 3}),
      normals(20'000, {.seed = 1, .step = 1ULL << 32 | 2, .micro_batch = 3}),
      normals(20'000, {.seed = 1, .step = 2, .micro_batch = 4}),
      normals(20'000, key, 1)};
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_LT(std::abs(correlation(base, others[i])), 0.03) << i;
  }
  EXPECT_EQ(base, normals(20'000, key));
  std::vector<double> shifted(base.begin() + 1, base.end());
  shifted.push_back(base.front());
  EXPECT_LT(std::abs(correlation(base, shifted)), 0.03);
}

TEST(Random, DrawsDependNeitherOnThreadsNorOnTheCountNorOnTheDtype) {
  const ops::RandomKey key = {.seed = 9, .step = 4};
  const auto all = normals(70'001, key);
  set_compute_threads(1);
  EXPECT_EQ(normals(70'001, key), all);
  set_compute_threads(0);
  const auto some = normals(1030, key);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
  EXPECT_EQ(normals(1030, key, 0, DType::f64), some);
  const auto rounded = normals(1030, key, 0, DType::bf16);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(rounded[i], static_cast<float>(BFloat16(static_cast<float>(some[i]))));
  }
}

TEST(Random, ATraceDrawsWhatEagerCallsDraw) {
  const ops::RandomKey key = {.seed = 11, .step = 5, .micro_batch = 1};
  const TensorType type = {DType::f32, {3, 41}};
  const auto draw = [&](const Tensor& like) {
    return std::vector<Tensor>{ops::random_uniform(type, 0, 1, like),
                               ops::random_normal(type, 0, 1, like)};
  };
  const Tensor here = Tensor::zeros({}, DType::f32, op_cases_device());
  std::vector<Tensor> eager;
  {
    const ops::RandomScope scope(key);
    eager = draw(here);
  }
  graph::Tracer tracer;
  const Tensor like = tracer.input("x", here.type());
  {
    const ops::RandomScope scope({.seed = 99});
    const ops::DispatchScope tracing(tracer);
    for (const Tensor& t : draw(like)) tracer.output(t);
  }
  const graph::Graph graph = tracer.finish();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto traced = plan::run_graph(graph, {{"x", here}}, op_cases_device(),
                                        {.order = plan::random_order(graph, seed), .random = key});
    ASSERT_EQ(traced.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(as_doubles(traced[i]), as_doubles(eager[i])) << i;
  }
}

TEST(Random, WordsAreThoseOfPhilox) {
  const cpu::RandomStream stream({.seed = 123456789012345, .step = 7, .micro_batch = 2}, 3);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(cpu::kRandomWords));
  const std::uint64_t first = (std::uint64_t{1} << 34) - 64;  // across the low word's end
  cpu::random_words(stream, first, words.data());
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(words[i], stream.block((first + i) / 4)[i % 4]) << i;
  }
}

TEST(Random, BadArgumentsAreNamed) {
  const auto message = [](auto&& body) -> std::string {
    try {
      body();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const Device& device = op_cases_device();
  EXPECT_THAT(message([&] {
                ops::random_uniform({DType::f32, {2}}, 2, 1, device);
              }),
              HasSubstr("[random_uniform] low 2 is above high 1"));
  EXPECT_THAT(message([&] {
                ops::random_normal({DType::f32, {2}}, 0, -1, device);
              }),
              HasSubstr("[random_normal] the deviation must be at least 0, not -1"));
  EXPECT_THAT(message([&] {
                ops::random_normal({DType::i32, {2}}, 0, 1, device);
              }),
              HasSubstr("is not defined for i32"));
}

}  // namespace
}  // namespace plimsoll
