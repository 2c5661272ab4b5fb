// Group normalisation beside the same written as loops over numbers.
#include <cmath>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

using Numbers = std::vector<double>;

constexpr double kEpsilon = 1e-3;

struct Pictures {
  std::int64_t count;
  std::int64_t channels;
  std::int64_t size;
  std::int64_t groups;
  bool last;
  double offset = 0;  ///< of all of x

  Shape shape() const {
    return last ? Shape{count, size, 1, channels} : Shape{count, channels, size, 1};
  }
  std::size_t elements() const { return static_cast<std::size_t>(count * channels * size); }
  std::size_t channel(std::size_t i) const {
    const auto c = static_cast<std::size_t>(channels);
    return last ? i % c : i / static_cast<std::size_t>(size) % c;
  }
  std::size_t group(std::size_t i) const {
    const std::size_t picture = i / static_cast<std::size_t>(channels * size);
    return picture * static_cast<std::size_t>(groups) +
           channel(i) / static_cast<std::size_t>(channels / groups);
  }
};

Numbers numbers(std::size_t count, double from, double span, double step) {
  Numbers all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(from + span * std::sin(step * static_cast<double>(i) + 0.4));
  }
  return all;
}

void add_cases(const Pictures& p, std::vector<OpCase>& cases) {
  const auto channels = static_cast<std::size_t>(p.channels);
  const auto groups = static_cast<std::size_t>(p.count * p.groups);
  const auto count = static_cast<double>(p.size * p.channels) / static_cast<double>(p.groups);
  const Numbers x = numbers(p.elements(), p.offset, 1, 2.3);
  const Numbers dy = numbers(p.elements(), 0.1, 1, 0.9);
  const Numbers scale = numbers(channels, 1, 0.3, 1.1);
  const Numbers bias = numbers(channels, 0, 0.5, 0.7);
  Numbers mean(groups, count == 0 ? std::nan("") : 0);
  Numbers variance = mean;
  for (std::size_t i = 0; i < x.size(); ++i) mean[p.group(i)] += x[i] / count;
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance[p.group(i)] += std::pow(x[i] - mean[p.group(i)], 2) / count;
  }
  const auto normal = [&](std::size_t i) {
    const std::size_t g = p.group(i);
    return (x[i] - mean[g]) / std::sqrt(variance[g] + kEpsilon);
  };
  Numbers y;
  Numbers by_scale(channels, 0);
  Numbers by_bias(channels, 0);
  Numbers of_mean(groups, 0);
  Numbers of_spread(groups, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = p.channel(i);
    y.push_back(normal(i) * scale[c] + bias[c]);
    by_scale[c] += dy[i] * normal(i);
    by_bias[c] += dy[i];
    of_mean[p.group(i)] += dy[i] * scale[c] / count;
    of_spread[p.group(i)] += dy[i] * scale[c] * normal(i) / count;
  }
  Numbers dx;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t g = p.group(i);
    dx.push_back((dy[i] * scale[p.channel(i)] - of_mean[g] - normal(i) * of_spread[g]) /
                 std::sqrt(variance[g] + kEpsilon));
  }

  const auto pictures = [&](const Numbers& n) { return from_doubles(n, p.shape(), DType::f64); };
  const auto row = [&](const Numbers& n) { return from_doubles(n, {p.channels}, DType::f64); };
  const auto each = [&](const Numbers& n) {
    return from_doubles(n, {p.count, p.groups}, DType::f64);
  };
  const ops::Attributes attributes = {
      {"groups", p.groups}, {"epsilon", kEpsilon}, {"channels_last", p.last}};
  for (const bool wide : {false, true}) {
    OpCase forward{.op = "group_norm",
                   .attributes = attributes,
                   .inputs = {pictures(x), row(scale), row(bias)},
                   .outputs = {pictures(y), each(mean), each(variance)},
                   .gradient_outputs = {0},
                   .tolerance = 4};
    if (wide) forward.wide = {1, 2};
    cases.push_back(std::move(forward));
    // Of no pixels there are no statistics, and nothing depends on them.
    const bool none = count == 0;
    const Numbers ones(groups, 1);
    OpCase backward{.op = "group_norm_grad",
                    .attributes = attributes,
                    .inputs = {pictures(dy), pictures(x), row(scale), each(none ? ones : mean),
                               each(none ? ones : variance)},
                    .outputs = {pictures(dx), row(by_scale), row(by_bias)},
                    .tolerance = 4,
                    .wide = {3, 4}};
    if (wide) backward.wide.push_back(2);
    cases.push_back(std::move(backward));
  }
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  for (const bool last : {false, true}) {
    add_cases({2, 8, 9, 2, last}, cases);
    add_cases({3, 6, 7, 3, last}, cases);
    add_cases({2, 16, 5, 16, last, 3}, cases);
    add_cases({1, 24, 1, 1, last}, cases);
    add_cases({1, 8, 1100, 4, last, 0.5}, cases);  // a mean of almost 0 would be rounding alone
    add_cases({1, 520, 3, 2, last}, cases);
    add_cases({0, 4, 3, 2, last}, cases);
    add_cases({2, 4, 0, 2, last}, cases);
  }
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
