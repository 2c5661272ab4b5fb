#pragma once

// Random draws on a device: their distribution, what they do and do not depend on, and that they
// are the CPU's. One suite for every kind of device:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, RandomDraws, ::testing::Values("cpu:0"), draws_case_name);

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/base/half.h>
#include <plimsoll/base/parallel.h>
#include <plimsoll/graph/trace.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/op_def.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/plan/run_graph.h>

#include "support/missing_device.h"
#include "support/op_cases.h"
#include "support/op_checks.h"
#include "support/own_device.h"

namespace plimsoll::test {

inline std::string draws_case_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, ':');
  return name;
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double skew = 0;
  double kurtosis = 0;
};

inline Moments moments(const std::vector<double>& values) {
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

inline double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const Moments x = moments(a);
  const Moments y = moments(b);
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += (a[i] - x.mean) * (b[i] - y.mean);
  return total / static_cast<double>(a.size()) / std::sqrt(x.variance * y.variance);
}

class RandomDraws : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto why = why_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    device_.emplace(test::own_device(GetParam(), {.limit = GiB(2)}));
  }

  const Device& device() const { return *device_; }
  static Tensor on_host(const Tensor& tensor) { return tensor.clone(op_cases_device(), {}); }
  static std::vector<double> numbers(const Tensor& tensor) { return as_doubles(on_host(tensor)); }

  std::vector<double> normals(std::int64_t count, const ops::RandomKey& key, int skip = 0,
                              DType dtype = DType::f32) const {
    const ops::RandomScope scope(key);
    for (int i = 0; i < skip; ++i) ops::RandomScope::next_id();
    return numbers(ops::random_normal({dtype, Shape{count}}, 0, 1, device()));
  }

  Tensor ones(std::int64_t count, DType dtype = DType::f32) const {
    return from_doubles(std::vector<double>(static_cast<std::size_t>(count), 1.0), {count}, dtype)
        .clone(device(), {});
  }

  /// On the host.
  static Tensor dropped(const ops::RandomKey& key, const Tensor& x, double rate = 0.5) {
    const ops::RandomScope scope(key);
    return on_host(ops::dropout(x, rate));
  }

  /// `count` draws of the op at place `place` on a device; on the host.
  struct Draw {
    std::string op;
    DType dtype = DType::f32;
    std::int64_t count = 0;
    ops::RandomKey key;
    int place = 0;
  };
  static Tensor draw(const Draw& d, const Device& on) {
    const ops::RandomScope scope(d.key);
    for (int i = 0; i < d.place; ++i) ops::RandomScope::next_id();
    const TensorType type{d.dtype, Shape{d.count}};
    if (d.op == "random_uniform") return on_host(ops::random_uniform(type, -0.7, 3.1, on));
    if (d.op == "random_normal") return on_host(ops::random_normal(type, 0.5, 2, on));
    if (d.op == "dropout") {
      return on_host(ops::dropout(random_tensor(type.shape, 11, d.dtype).clone(on, {}), 0.3));
    }
    ADD_FAILURE() << d.op << " draws random numbers and is not tested here";
    return Tensor::zeros(type.shape, d.dtype, op_cases_device());
  }

  /// Normals may differ in the last bits, where the two round differently.
  static void expect_as_on_the_cpu(const Draw& d, const Tensor& actual, const Tensor& expected) {
    if (d.op != "random_normal") {
      EXPECT_TRUE(same_bits(actual, expected));
      return;
    }
    const double spacing = d.dtype == DType::f16 ? 0x1p-10 : d.dtype == DType::bf16 ? 0x1p-7 : 0;
    const std::vector<double> a = as_doubles(actual);
    const std::vector<double> e = as_doubles(expected);
    ASSERT_EQ(a.size(), e.size());
    std::size_t others = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LE(std::abs(a[i] - e[i]), 1e-5 + spacing * std::abs(e[i])) << "element " << i;
      others += a[i] != e[i] ? 1 : 0;
    }
    if (spacing != 0) {
      EXPECT_LE(others, 2 + a.size() / 100) << "of " << a.size();
    }
  }

  std::optional<Device> device_;
};

TEST_P(RandomDraws, OfEveryRandomOpAreTheCpus) {
  // Below, at and above what a thread, a vector and a block of words take.
  const std::vector<std::int64_t> counts = {1, 2, 3, 4, 5, 7, 8, 9, 63, 1023, 1030, 70'001};
  const std::vector<ops::RandomKey> keys = {
      {.seed = 0},
      {.seed = 0xFEDC'BA98'7654'3210, .step = 7, .micro_batch = 2},
      {.seed = 3, .step = 0x1'0000'0001, .micro_batch = 0xFFFF'FFFF}};
  int ops_seen = 0;
  for (const ops::OpDef* def : ops::all_ops()) {
    if (!def->random) continue;
    ++ops_seen;
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (const std::int64_t count : counts) {
        for (const ops::RandomKey& key : keys) {
          const Draw d{std::string(def->name), dtype, count, key, static_cast<int>(count % 3)};
          SCOPED_TRACE(d.op + " " + std::string(dtype_name(dtype)) + " " + std::to_string(count));
          expect_as_on_the_cpu(d, draw(d, device()), draw(d, op_cases_device()));
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(ops_seen, 3);
}

TEST_P(RandomDraws, WriteEveryElementAndNothingElse) {
  const ops::RandomKey key{.seed = 21, .step = 3};
  const std::map<std::string, ops::Attributes> given = {
      {"random_uniform", {{"low", -0.7}, {"high", 3.1}}},
      {"random_normal", {{"mean", 0.5}, {"deviation", 2.0}}},
      {"dropout", {{"rate", 0.3}}}};
  for (const ops::OpDef* def : ops::all_ops()) {
    if (!def->random) continue;
    const auto found = given.find(std::string(def->name));
    ASSERT_NE(found, given.end()) << def->name << " is not tested here";
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (const std::int64_t count : {1, 5, 8, 1023, 70'001}) {
        SCOPED_TRACE(std::string(def->name) + " " + std::string(dtype_name(dtype)) + " " +
                     std::to_string(count));
        const Draw d{std::string(def->name), dtype, count, key, 2};
        const Tensor expected = draw(d, device());
        ops::Attributes attributes = found->second;
        attributes.set("random_id", std::int64_t{2});
        std::vector<Tensor> inputs;
        if (def->inputs == 0) {
          attributes.set("shape", std::vector<std::int64_t>{count});
          attributes.set("dtype", dtype);
        } else {
          inputs = {random_tensor({count}, 11, dtype).clone(device(), {})};
        }
        const auto outputs = run_poisoned(*def, attributes, inputs, device(), {.random = key});
        EXPECT_TRUE(same_bits(on_host(outputs[0]), expected));
        if (def->in_place.empty()) continue;
        run_kernel(*def, attributes, inputs, inputs, device(), {.random = key});
        EXPECT_TRUE(same_bits(on_host(inputs[0]), expected)) << "in place";
      }
    }
  }
}

TEST_P(RandomDraws, NormalsHaveTheMomentsOfANormal) {
  const ops::RandomScope scope({.seed = 7});
  const Tensor x = ops::random_normal({DType::f32, {400, 1000}}, 3, 2, device());
  const Moments m = moments(numbers(x));
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.variance, 4, 0.05);
  EXPECT_NEAR(m.skew, 0, 0.02);
  EXPECT_NEAR(m.kurtosis, 3, 0.05);
}

TEST_P(RandomDraws, NormalsLieWhereANormalsDo) {
  std::vector<double> values = normals(200'000, {.seed = 3});
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    worst = std::max(worst, std::abs(share - (static_cast<double>(i) + 0.5) / 200'000));
  }
  EXPECT_LT(worst, 1.95 / std::sqrt(200'000.0));  // Kolmogorov and Smirnov at 0.1%
}

TEST_P(RandomDraws, UniformsFillTheirRangeEvenly) {
  const ops::RandomScope scope({.seed = 5});
  const Tensor x = ops::random_uniform({DType::f32, {320'000}}, -1, 3, device());
  std::vector<int> bins(64);
  for (const double v : numbers(x)) {
    ASSERT_GE(v, -1);
    ASSERT_LE(v, 3);
    ++bins[std::min<std::size_t>(63, static_cast<std::size_t>((v + 1) * 16))];
  }
  double chi = 0;
  for (const int count : bins) chi += (count - 5000.0) * (count - 5000.0) / 5000.0;
  EXPECT_LT(chi, 63 + 4 * std::sqrt(2 * 63.0));
  EXPECT_GT(chi, 63 - 4 * std::sqrt(2 * 63.0));
}

TEST_P(RandomDraws, EveryPartOfTheKeyAndThePlaceGiveOtherDraws) {
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

TEST_P(RandomDraws, DrawsDependNeitherOnThreadsNorOnTheCountNorOnTheDtype) {
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

TEST_P(RandomDraws, ATraceDrawsWhatEagerCallsDraw) {
  const ops::RandomKey key = {.seed = 11, .step = 5, .micro_batch = 1};
  const TensorType type = {DType::f32, {3, 41}};
  const auto draw = [&](const Tensor& like) {
    return std::vector<Tensor>{ops::random_uniform(type, 0, 1, like),
                               ops::random_normal(type, 0, 1, like)};
  };
  const Tensor here = Tensor::zeros({}, DType::f32, device());
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
    const auto traced = plan::run_graph(graph, {{"x", here}}, device(),
                                        {.order = plan::random_order(graph, seed), .random = key});
    ASSERT_EQ(traced.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(numbers(traced[i]), numbers(eager[i])) << i;
  }
}

TEST_P(RandomDraws, DropoutDropsTheRateAndKeepsTheMean) {
  for (const double rate : {0.1, 0.5, 0.9}) {
    const std::int64_t count = 200'000;
    const auto y = as_doubles(dropped({.seed = 3}, ones(count), rate));
    double zeros = 0;
    for (const double value : y) {
      if (value == 0) {
        ++zeros;
      } else {
        ASSERT_FLOAT_EQ(static_cast<float>(value), static_cast<float>(1 / (1 - rate)));
      }
    }
    const double deviation = std::sqrt(rate * (1 - rate) * static_cast<double>(count));
    EXPECT_NEAR(zeros, rate * static_cast<double>(count), 4.5 * deviation);
  }
}

TEST_P(RandomDraws, NeighboursAreDroppedIndependently) {
  const auto y = as_doubles(dropped({.seed = 4}, ones(100'000)));
  for (const std::size_t lag : {1, 4, 16, 64, 1024}) {
    double both = 0;
    for (std::size_t i = lag; i < y.size(); ++i) both += y[i] != 0 && y[i - lag] != 0 ? 1 : 0;
    EXPECT_NEAR(both / static_cast<double>(y.size() - lag), 0.25, 0.01) << lag;
  }
}

TEST_P(RandomDraws, TheMaskIsAFunctionOfKeyPlaceAndElementAlone) {
  const Tensor x = ones(10'000);
  const ops::RandomKey key{.seed = 5, .step = 6, .micro_batch = 7};
  const Tensor y = dropped(key, x);
  EXPECT_TRUE(same_bits(y, dropped(key, x)));
  EXPECT_FALSE(same_bits(y, dropped({.seed = 8, .step = 6, .micro_batch = 7}, x)));
  EXPECT_FALSE(same_bits(y, dropped({.seed = 5, .step = 8, .micro_batch = 7}, x)));
  EXPECT_FALSE(same_bits(y, dropped({.seed = 5, .step = 6, .micro_batch = 8}, x)));
  {
    const ops::RandomScope scope(key);
    const Tensor first = on_host(ops::dropout(x, 0.5));
    EXPECT_TRUE(same_bits(y, first));
    EXPECT_FALSE(same_bits(y, on_host(ops::dropout(x, 0.5)))) << "at the next place";
  }
  // Of a shorter tensor, and in another dtype, the same elements go.
  const auto whole = as_doubles(y);
  const auto part = as_doubles(dropped(key, ones(777)));
  EXPECT_EQ(part, std::vector<double>(whole.begin(), whole.begin() + 777));
  EXPECT_EQ(as_doubles(dropped(key, ones(10'000, DType::bf16))), whole);
  EXPECT_TRUE(
      independent_of_threads([&] { return std::vector<Tensor>{dropped(key, ones(100'001))}; }));
}

}  // namespace plimsoll::test
