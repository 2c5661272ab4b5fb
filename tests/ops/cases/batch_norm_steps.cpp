// The steps of batch normalisation beside the same written as loops over numbers. Values keep away
// from zero, where relu has its kink.
#include <cmath>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

constexpr double kEpsilon = 1e-3;

/// Numbers by pixel and channel, in one layout or the other.
struct Pictures {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t size;  ///< pixels, all in one row
  bool last;

  Shape shape() const {
    return last ? Shape{batch, 1, size, channels} : Shape{batch, channels, 1, size};
  }
  std::int64_t elements() const { return batch * channels * size; }
  std::size_t channel(std::size_t i) const {
    const auto c = static_cast<std::size_t>(channels);
    return last ? i % c : i / static_cast<std::size_t>(size) % c;
  }
};

using Numbers = std::vector<double>;

Numbers numbers(std::int64_t count, double from, double span, double step) {
  Numbers all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back(from + span * std::sin(step * static_cast<double>(i) + 0.4));
  }
  return all;
}

/// About as many above as below zero, none near it.
Numbers apart(std::int64_t count) {
  Numbers all = numbers(count, 0, 1, 2.3);
  for (double& x : all) x = x < 0 ? -1 + 0.3 * x : 1 + 0.3 * x;
  return all;
}

struct Norm {
  explicit Norm(const Pictures& pictures) : p(pictures) {
    x = apart(p.elements());
    dy = numbers(p.elements(), 0.1, 1, 0.9);
    more = numbers(p.elements(), -0.2, 1, 1.9);
    other = numbers(p.elements(), 0, 0.2, 1.3);
    const auto channels = static_cast<std::size_t>(p.channels);
    scale = numbers(p.channels, 1, 0.3, 1.1);
    bias = numbers(p.channels, 0, 0.1, 0.7);
    mean.assign(channels, 0);
    variance.assign(channels, 0);
    count = static_cast<double>(p.batch * p.size);
    for (std::size_t i = 0; i < x.size(); ++i) mean[p.channel(i)] += x[i] / count;
    for (std::size_t i = 0; i < x.size(); ++i) {
      variance[p.channel(i)] += std::pow(x[i] - mean[p.channel(i)], 2) / count;
    }
    if (x.empty()) variance.assign(channels, 1);
  }

  double inverse(std::size_t c) const { return 1 / std::sqrt(variance[c] + kEpsilon); }
  double normalised(std::size_t i) const {
    const std::size_t c = p.channel(i);
    return (x[i] - mean[c]) * inverse(c) * scale[c] + bias[c];
  }
  Numbers applied(bool adds, bool relu) const {
    Numbers y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = normalised(i) + (adds ? other[i] : 0);
      y.push_back(relu && value < 0 ? 0 : value);
    }
    return y;
  }

  Tensor picture(const Numbers& n) const { return from_doubles(n, p.shape(), DType::f64); }
  Tensor row(const Numbers& n) const { return from_doubles(n, {p.channels}, DType::f64); }
  ops::Attributes attributes() const { return {{"epsilon", kEpsilon}, {"channels_last", p.last}}; }

  Pictures p;
  double count = 0;
  Numbers x, dy, more, other, scale, bias, mean, variance;
};

void add_forward(const Norm& n, std::vector<OpCase>& cases) {
  const std::vector<std::size_t> wide = {1, 2, 3, 4};
  // An empty batch has no statistics.
  const Numbers none(static_cast<std::size_t>(n.p.channels), std::nan(""));
  cases.push_back(
      {.op = "batch_norm_statistics",
       .attributes = {{"channels_last", n.p.last}},
       .inputs = {n.picture(n.x)},
       .outputs = {n.row(n.x.empty() ? none : n.mean), n.row(n.x.empty() ? none : n.variance)}});
  for (const bool adds : {false, true}) {
    for (const bool relu : {false, true}) {
      OpCase c{.op = "batch_norm_apply",
               .attributes = n.attributes(),
               .inputs = {n.picture(n.x), n.row(n.scale), n.row(n.bias), n.row(n.mean),
                          n.row(n.variance)},
               .outputs = {n.picture(n.applied(adds, relu))},
               .wide = wide};
      c.attributes.set("relu", relu);
      if (adds) c.inputs.push_back(n.picture(n.other));
      cases.push_back(std::move(c));
    }
  }
}

void add_gradients(const Norm& n, std::vector<OpCase>& cases) {
  const auto channels = static_cast<std::size_t>(n.p.channels);
  for (const bool more : {false, true}) {
    for (const bool adds : {false, true}) {
      const Numbers y = n.applied(adds, true);
      Numbers masked;
      Numbers sum(channels, 0);
      Numbers along(channels, 0);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t c = n.p.channel(i);
        masked.push_back(y[i] > 0 ? n.dy[i] + (more ? n.more[i] : 0) : 0);
        sum[c] += masked[i];
        along[c] += masked[i] * (n.x[i] - n.mean[c]) * n.inverse(c);
      }
      Numbers dx;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t c = n.p.channel(i);
        const double at = (n.x[i] - n.mean[c]) * n.inverse(c);
        dx.push_back(n.scale[c] * n.inverse(c) *
                     (masked[i] - sum[c] / n.count - at * along[c] / n.count));
      }
      OpCase c{.op = adds ? "batch_norm_add_relu_grad" : "batch_norm_relu_grad",
               .attributes = n.attributes(),
               .inputs = {n.picture(n.dy), n.picture(n.x), n.row(n.scale),
                          adds ? n.picture(y) : n.row(n.bias), n.row(n.mean), n.row(n.variance)},
               .outputs = {n.picture(dx), n.row(along), n.row(sum)},
               .tolerance = 4,
               .wide = {2, 4, 5}};
      if (!adds) c.wide.push_back(3);
      if (adds) c.outputs.push_back(n.picture(masked));
      if (more) c.inputs.push_back(n.picture(n.more));
      cases.push_back(std::move(c));
    }
  }
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  std::vector<OpCase> cases;
  for (const Pictures& p : {Pictures{2, 8, 9, true}, Pictures{3, 5, 7, true},
                            Pictures{2, 3, 11, false}, Pictures{0, 8, 3, true}}) {
    const Norm n(p);
    add_forward(n, cases);
    add_gradients(n, cases);
  }
  return cases;
});

}  // namespace
}  // namespace plimsoll::test
