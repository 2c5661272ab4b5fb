// gated, glu and their gradients beside the functions of <cmath>; derivatives of the gates by hand.
#include <cmath>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

enum GateNumber : std::int64_t { kSigmoid, kSilu, kGelu, kRelu, kLinear };

double gate_value(std::int64_t gate, double g) {
  const double s = 0.5 + 0.5 * std::tanh(g / 2);
  switch (gate) {
    case kSigmoid:
      return s;
    case kSilu:
      return g * s;
    case kGelu:
      return g * 0.5 * std::erfc(-g / std::sqrt(2.0));
    case kRelu:
      return g > 0 ? g : 0;
    default:
      return g;
  }
}

double gate_slope(std::int64_t gate, double g) {
  const double s = 0.5 + 0.5 * std::tanh(g / 2);
  const double bell = 0.25 / std::pow(std::cosh(g / 2), 2);
  switch (gate) {
    case kSigmoid:
      return bell;
    case kSilu:
      return s + g * bell;
    case kGelu:
      return 0.5 * std::erfc(-g / std::sqrt(2.0)) +
             g * std::exp(-g * g / 2) / std::sqrt(2 * std::acos(-1.0));
    case kRelu:
      return g > 0 ? 1 : 0;
    default:
      return 1;
  }
}

/// Cases of both forms for rows [..., size].
void add_gated(std::vector<OpCase>& cases, std::int64_t gate, const Shape& shape) {
  const std::int64_t count = shape.elements();
  const std::int64_t size = shape.rank() == 0 ? 1 : shape.dim(-1);
  std::vector<double> g;
  std::vector<double> x;
  std::vector<double> dy;
  std::vector<double> y;
  std::vector<double> dg;
  std::vector<double> dx;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    g.push_back(3 * std::sin(1.7 * at + 0.3));
    x.push_back(2 * std::cos(0.9 * at));
    dy.push_back(std::sin(2.3 * at + 1));
    y.push_back(gate_value(gate, g.back()) * x.back());
    dg.push_back(dy.back() * x.back() * gate_slope(gate, g.back()));
    dx.push_back(dy.back() * gate_value(gate, g.back()));
  }
  const auto tensor = [&](const std::vector<double>& values) {
    return from_doubles(values, shape, DType::f64);
  };
  const ops::Attributes attributes = {{"gate", gate}};
  cases.push_back({.op = "gated",
                   .attributes = attributes,
                   .inputs = {tensor(g), tensor(x)},
                   .outputs = {tensor(y)}});
  cases.push_back({.op = "gated_grad",
                   .attributes = attributes,
                   .inputs = {tensor(g), tensor(x), tensor(dy)},
                   .outputs = {tensor(dg), tensor(dx)},
                   .gradient = gate != kGelu});
  if (shape.rank() == 0) return;
  const Shape wide = shape.with_dim(-1, 2 * size);
  /// Rows with `a` in their first halves and `b` in the others.
  const auto joined = [&](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> both;
    for (std::int64_t i = 0; i < 2 * count; ++i) {
      const std::int64_t row = i / (2 * size);
      const std::int64_t column = i % (2 * size);
      both.push_back((column < size ? a : b)[static_cast<std::size_t>(row * size + column % size)]);
    }
    return from_doubles(both, wide, DType::f64);
  };
  cases.push_back(
      {.op = "glu", .attributes = attributes, .inputs = {joined(x, g)}, .outputs = {tensor(y)}});
  cases.push_back({.op = "glu_grad",
                   .attributes = attributes,
                   .inputs = {joined(x, g), tensor(dy)},
                   .outputs = {joined(dx, dg)},
                   .gradient = gate != kGelu});
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  for (const std::int64_t gate : {kSigmoid, kSilu, kGelu, kRelu, kLinear}) {
    add_gated(cases, gate, {2, 3});
    add_gated(cases, gate, {});
    add_gated(cases, gate, {5, 16});  // whole words of 16 bytes
    add_gated(cases, gate, {2, 2, 21});
    add_gated(cases, gate, {0, 4});
    add_gated(cases, gate, {3, 0});
  }
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
