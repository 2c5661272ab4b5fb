// Adam with moments of 8 bits beside the same written out in f64.
#include <cmath>

#include <plimsoll/backend/common/packed_moments.h>
#include <plimsoll/ops/packed_update.h>

#include "support/op_cases.h"

namespace plimsoll::test {
namespace {

constexpr double kRate = 0.125;
constexpr double kStep = 3;
constexpr double kEpsilon = 1e-3;
constexpr double kDecay = 0.25;
constexpr double kBeta1 = 0.75;
constexpr double kBeta2 = 0.875;
constexpr std::size_t kBlock = packed::kMomentBlock;

using Values = std::vector<double>;

/// A parameter's moments as they are kept.
struct Kept {
  Values first, first_scale, second, second_scale;
};

/// The whole number below `x` steps, or the one above, where the powers of both are `power`.
double rounded(double share, double steps, double power, double fraction) {
  const double below = std::min(steps - 1, std::floor(std::pow(share, 1 / power) * steps));
  const double low = std::pow(below / steps, power);
  const double high = std::pow((below + 1) / steps, power);
  return below + (fraction < (share - low) / (high - low) ? 1 : 0);
}

/// Both after a step.
void update(Values& p, Kept& kept, const Values& g, bool decoupled) {
  const std::size_t blocks = kept.first_scale.size();
  for (std::size_t block = 0; block < blocks; ++block) {
    Values first(kBlock), second(kBlock);
    double& first_scale = kept.first_scale[block];
    double& second_scale = kept.second_scale[block];
    double first_most = 0;
    double second_most = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::size_t at = block * kBlock + i;
      const bool inside = at < p.size();
      const double slope = inside ? g[at] + (decoupled ? 0 : kDecay * p[at]) : 0;
      const double root = kept.first[at] / 127;
      first[i] = kBeta1 * root * std::fabs(root) * first_scale + (1 - kBeta1) * slope;
      second[i] =
          kBeta2 * std::pow(kept.second[at] / 255, 4) * second_scale + (1 - kBeta2) * slope * slope;
      first_most = std::max(first_most, std::fabs(first[i]));
      second_most = std::max(second_most, second[i]);
      if (!inside) continue;
      const double mean = first[i] / (1 - std::pow(kBeta1, kStep));
      const double square = second[i] / (1 - std::pow(kBeta2, kStep));
      if (decoupled) p[at] *= 1 - kRate * kDecay;
      p[at] -= kRate * mean / (std::sqrt(square) + kEpsilon);
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::size_t at = block * kBlock + i;
      const std::uint32_t start = packed::start_of(static_cast<std::uint32_t>(at));
      const auto step = static_cast<std::uint32_t>(kStep);
      const double size = first_most > 0 ? std::fabs(first[i]) / first_most : 0;
      const double square = second_most > 0 ? second[i] / second_most : 0;
      const double steps = rounded(size, 127, 2, packed::first_fraction(start, step));
      kept.first[at] = first[i] < 0 ? -steps : steps;
      kept.second[at] = std::max(second[i] > 0 ? 1.0 : 0.0,
                                 rounded(square, 255, 4, packed::second_fraction(start, step)));
    }
    first_scale = first_most;
    second_scale = second_most;
  }
}

/// Of a parameter of `count` elements. Its gradients span some decades, and some are 0.
OpCase case_of(std::int64_t count, bool decoupled, bool enabled) {
  const auto size = static_cast<std::size_t>(count);
  Values p(size), g(size);
  for (std::size_t i = 0; i < size; ++i) {
    p[i] = std::sin(static_cast<double>(i));
    g[i] = i % 7 == 0 ? 0 : std::sin(3.0 * static_cast<double>(i)) * std::pow(2, -int(i % 17));
  }
  const Shape shape{count};
  const auto types = ops::packed_moments({DType::f64, shape});
  const auto blocks = static_cast<std::size_t>(types[1].elements());
  Kept kept{Values(blocks * kBlock), Values(blocks, 0.5), Values(blocks * kBlock),
            Values(blocks, 0.25)};
  for (std::size_t i = 0; i < size; ++i) {
    kept.first[i] = static_cast<double>(i * 37 % 255) - 127;
    kept.second[i] = static_cast<double>(i * 101 % 256);
  }
  const auto tensors = [&] {
    return std::vector<Tensor>{from_doubles(p, shape, DType::f64),
                               from_doubles(kept.first, types[0].shape, DType::i8),
                               from_doubles(kept.first_scale, types[1].shape, DType::f32),
                               from_doubles(kept.second, types[2].shape, DType::u8),
                               from_doubles(kept.second_scale, types[3].shape, DType::f32)};
  };
  OpCase c{.op = "adam_8bit_update",
           .description = shape.to_string(),
           .attributes = {{"beta1", kBeta1},
                          {"beta2", kBeta2},
                          {"epsilon", kEpsilon},
                          {"weight_decay", kDecay},
                          {"decoupled", decoupled}},
           .inputs = tensors(),
           // Moments are computed in f32, whatever the parameter is.
           .tolerance = 300};
  c.inputs.push_back(from_doubles(g, shape, DType::f64));
  c.inputs.push_back(from_doubles({kRate}, {}, DType::f32));
  c.inputs.push_back(from_doubles({kStep}, {}, DType::f32));
  if (!enabled) c.inputs.push_back(from_doubles({0}, {}, DType::boolean));
  if (enabled) update(p, kept, g, decoupled);
  c.outputs = tensors();
  return c;
}

const RegisterOpCases kCases([]() -> std::vector<OpCase> {
  return {case_of(300, true, true), case_of(512, false, true), case_of(1, true, true),
          case_of(0, true, true), case_of(257, true, false)};
});

}  // namespace
}  // namespace plimsoll::test
