#include <plimsoll/train/loss_scale.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::train {
namespace {

constexpr std::size_t kScale = 0;
constexpr std::size_t kGood = 1;
/// Growing stops here, well before the scale itself would overflow.
constexpr double kLargest = 16777216.0 * 16777216.0;
/// Falling stops here: with a scale of 0 the gradients that come next would be divided by 0.
constexpr double kSmallest = 1 / 16777216.0;
constexpr double kHuge = std::numeric_limits<float>::max();

optim::State declare(const std::string& name, double first) {
  return Variable::declare({DType::f32, {}},
                           {.name = name,
                            .trainable = false,
                            .tag = Tag::optimizer,
                            .initial = [first](const Variable&, const Device& device) {
                              return Tensor::from_values(
                                  {static_cast<float>(first)}, {}, device,
                                  {.tag = Tag::optimizer, .label = "loss scale"});
                            }});
}

Tensor scalar(const Tensor& like, double value) {
  return ops::full_like_type(like, {DType::f32, {}}, value);
}

}  // namespace

LossScale::LossScale(const LossScaleOptions& options)
    : options_(options), state_{declare("scale", options.initial), declare("good_steps", 0)} {
  if (!(options.initial > 0) || !(options.growth >= 1) || !(options.backoff > 0) ||
      !(options.backoff < 1) || options.interval < 1) {
    throw InvalidArgument(
        fmt::format("[LossScale] initial {}, growth {}, backoff {}, interval {}: the scale must be "
                    "above 0, growth at least 1, backoff between 0 and 1, the interval at least 1",
                    options.initial, options.growth, options.backoff, options.interval));
  }
}

void LossScale::materialize(const Device& device) {
  for (const optim::State& s : state_) s.materialize(device);
}

Tensor LossScale::scaled(const Tensor& loss) const {
  return ops::mul(ops::cast(loss, DType::f32), state_[kScale].value());
}

LossScale::Result LossScale::update(std::span<const Tensor> gradients) {
  const Tensor& scale = state_[kScale].value();
  const Tensor& good = state_[kGood].value();
  const Tensor inverse = ops::reciprocal(scale);
  Result result;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) {
      result.gradients.emplace_back();
      continue;
    }
    const Tensor finite = ops::all(ops::is_finite(gradient));
    result.finite = result.finite.defined() ? ops::logical_and(result.finite, finite) : finite;
    result.gradients.push_back(ops::mul(ops::cast(gradient, DType::f32), inverse));
  }
  if (!result.finite.defined()) result.finite = ops::cast(scalar(scale, 1), DType::boolean);

  const Tensor counted = ops::shift(good, 1);
  const Tensor grows =
      ops::greater_equal(counted, scalar(scale, static_cast<double>(options_.interval)));
  const Tensor larger = ops::clip(ops::scale(scale, options_.growth), 0, kLargest);
  const double least = std::min(kSmallest, options_.initial);
  const Tensor smaller = ops::clip(ops::scale(scale, options_.backoff), least, kHuge);
  const Tensor zero = scalar(scale, 0);
  const Tensor next = ops::where(result.finite, ops::where(grows, larger, scale), smaller);
  const Tensor next_good = ops::where(result.finite, ops::where(grows, zero, counted), zero);
  ops::assign(scale, next);
  ops::assign(good, next_good);
  return result;
}

double LossScale::scale() const {
  return static_cast<double>(state_[kScale].tensor().item<float>());
}

void bind(graph::Tracer& tracer, const LossScale& scale) {
  for (const optim::State& s : scale.state()) {
    tracer.bind(s.tensor(), graph::Role::state, Tag::optimizer, "loss_scale." + s.name());
  }
}

}  // namespace plimsoll::train
