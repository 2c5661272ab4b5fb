// Second derivatives: gradients of gradients, against differences of gradients.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "support/own_device.h"

namespace plimsoll::ops {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

Tensor gradient_of(const Function& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(mul(f(x), f(x)));
  return tape.gradient(y, x);
}

struct Case {
  std::string name;
  Function f;
};

class SecondGradient : public ::testing::TestWithParam<Case> {};

TEST_P(SecondGradient, IsTheSlopeOfTheGradient) {
  const Device device = test::own_cpu({.limit = MiB(64)});
  const std::vector<double> at = {0.3, 0.9, 1.4, -0.8, -0.2, 0.6};
  const std::vector<double> along = {0.7, -0.4, 0.2, 0.5, 1.0, -0.3};
  const bool positive = GetParam().name == "sqrt" || GetParam().name == "rsqrt" ||
                        GetParam().name == "reciprocal" || GetParam().name == "log1p";
  const auto point = [&](double step) {
    std::vector<double> values;
    for (std::size_t i = 0; i < at.size(); ++i) {
      values.push_back((positive ? std::abs(at[i]) + 0.2 : at[i]) + step * along[i]);
    }
    return Tensor::from_values<double>(values, {2, 3}, device);
  };
  const Tensor x = point(0);
  GradientTape outer;
  outer.watch(x);
  const Tensor first = gradient_of(GetParam().f, x);
  const Tensor found =
      outer.gradient(sum(mul(first, Tensor::from_values<double>(along, {2, 3}, device))), x);
  const double h = 1e-6;
  const std::vector<double> above = gradient_of(GetParam().f, point(h)).to_vector<double>();
  const std::vector<double> below = gradient_of(GetParam().f, point(-h)).to_vector<double>();
  const std::vector<double> second = found.to_vector<double>();
  for (std::size_t i = 0; i < second.size(); ++i) {
    EXPECT_NEAR(second[i], (above[i] - below[i]) / (2 * h), 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, SecondGradient,
    ::testing::Values(Case{"relu", relu},
                      Case{"leaky_relu", [](auto& x) { return leaky_relu(x, 0.2); }},
                      Case{"elu", [](auto& x) { return elu(x, 0.7); }}, Case{"sigmoid", sigmoid},
                      Case{"tanh", tanh}, Case{"silu", silu}, Case{"softplus", softplus},
                      Case{"abs", abs}, Case{"square", square}, Case{"sqrt", sqrt},
                      Case{"rsqrt", rsqrt}, Case{"reciprocal", reciprocal}, Case{"log1p", log1p},
                      Case{"sin", sin}, Case{"cos", cos}, Case{"erf", erf}, Case{"exp", exp},
                      Case{"div", [](auto& x) { return div(shift(x, 3), shift(square(x), 1)); }},
                      Case{"softmax", [](auto& x) { return softmax(x, 1); }},
                      Case{"log_softmax", [](auto& x) { return log_softmax(x, 0); }}),
    [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace plimsoll::ops
