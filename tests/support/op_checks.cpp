#include "support/op_checks.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/parallel.h>

#include "support/op_cases.h"

namespace plimsoll::test {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values) value = normal(random);
  return from_doubles(values, shape, dtype);
}

Tensor random_indices(const Shape& shape, std::int64_t below, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> uniform(0, below - 1);
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t& value : values) value = uniform(random);
  return Tensor::from_values(std::span<const std::int64_t>(values), shape, op_cases_device());
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous();
  const Tensor y = b.contiguous();
  return x.type() == y.type() &&
         (x.nbytes() == 0 || std::memcmp(x.raw_data(), y.raw_data(), x.nbytes()) == 0);
}

double allowed(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-6;
    case DType::f16:
      return 2e-3;
    case DType::bf16:
      return 1.2e-2;
    default:
      return 0;
  }
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double share, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1e-3;
  for (const double e : expected) {
    if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i];
    const double a = actual[i];
    if (std::isnan(e) ? std::isnan(a) : (a == e || std::abs(a - e) <= share * largest)) continue;
    ADD_FAILURE() << what << ": element " << i << " is " << a << ", expected " << e;
    return;
  }
}

double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const auto x = as_doubles(a);
  const auto y = as_doubles(b);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    const double apart = std::abs(x[i] - y[i]);
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, apart);
  }
  return largest;
}

bool independent_of_threads(const std::function<std::vector<Tensor>()>& work) {
  std::vector<Tensor> first;
  bool same = true;
  for (const int threads : {1, 2, 3, 7}) {
    set_compute_threads(threads);
    const auto results = work();
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      same = same && same_bits(results[i], first[i]);
    }
  }
  set_compute_threads(0);
  return same;
}

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

}  // namespace plimsoll::test
