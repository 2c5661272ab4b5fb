// neg, abs, scale, clip ...: arithmetic on one tensor.
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

/// A number that integers are scaled, shifted or clipped by must be one.
void require_number(const OpInputs& inputs, std::string_view name) {
  const double value = inputs.attributes().number(name);
  if (is_integer(inputs.dtype(0)) && (value != std::nearbyint(value) || std::abs(value) > 0x1p53)) {
    inputs.fail(fmt::format("{} is not an integer; cast to a floating dtype first", value));
  }
}

Tensor square_slope(const Tensor& product, const Tensor& /*x*/) { return scale(product, 2); }

constexpr OpDef kAbsGrad =
    unary_grad_op("abs_grad", "the gradient of abs from x", second<"abs_grad">);
constexpr OpDef kSquareGrad = unary_grad_op("square_grad", "the gradient of square from x",
                                            second<"square_grad", square_slope>);
constexpr OpDef kClipGrad =
    unary_grad_op("clip_grad", "the gradient of clip from x", second<"clip_grad">);

constexpr OpDef kNeg = unary_op(
    "neg", "-x", [](GradientContext& g) { g.set(0, neg(g.grad())); }, nullptr, kNumbers);

constexpr OpDef kAbs = unary_op(
    "abs", "x without its sign",
    [](GradientContext& g) {
      g.set(0, call_one(kAbsGrad, {g.grad(), g.input(0)}));
    },
    keeps_input, kNumbers);

constexpr OpDef kSquare = unary_op(
    "square", "x * x",
    [](GradientContext& g) {
      g.set(0, call_one(kSquareGrad, {g.grad(), g.input(0)}));
    },
    keeps_input, kNumbers);

constexpr OpDef kSign = [] {
  OpDef def = unary_op("sign", "-1, 0 or 1", nullptr, nullptr, kNumbers);
  def.stops_gradient = true;
  return def;
}();

constexpr OpDef kScale = [] {
  OpDef def = unary_op(
      "scale", "x * factor",
      [](GradientContext& g) { g.set(0, scale(g.grad(), g.attributes().number("factor"))); },
      nullptr, kNumbers);
  def.types = [](const OpInputs& inputs) {
    require_number(inputs, "factor");
    return std::vector<TensorType>{inputs[0]};
  };
  return def;
}();

constexpr OpDef kShift = [] {
  OpDef def = unary_op(
      "shift", "x + offset", [](GradientContext& g) { g.set(0, g.grad()); }, nullptr, kNumbers);
  def.types = [](const OpInputs& inputs) {
    require_number(inputs, "offset");
    return std::vector<TensorType>{inputs[0]};
  };
  return def;
}();

constexpr OpDef kClip = [] {
  OpDef def = unary_op(
      "clip", "x, but no less than low and no more than high",
      [](GradientContext& g) {
        g.set(0, call_one(kClipGrad, {g.grad(), g.input(0)}, g.attributes()));
      },
      keeps_input, kNumbers);
  def.types = [](const OpInputs& inputs) {
    const double low = inputs.attributes().number("low");
    const double high = inputs.attributes().number("high");
    if (!(low <= high)) inputs.fail(fmt::format("low {} is above high {}", low, high));
    require_number(inputs, "low");
    require_number(inputs, "high");
    return std::vector<TensorType>{inputs[0]};
  };
  return def;
}();

constexpr OpDef kStopGradient = {
    .name = "stop_gradient",
    .family = "elementwise",
    .summary = "x, without a gradient",
    .dtypes = kAnyDType,
    .types = same_type,
    .view = true,
    .stops_gradient = true,
    .cheap = true,
    .channels = {.rule = ChannelRule::pointwise},
};

constexpr std::array kElementwiseUnaryOps = {&kNeg,    &kAbs,        &kAbsGrad,     &kSign,
                                             &kSquare, &kSquareGrad, &kScale,       &kShift,
                                             &kClip,   &kClipGrad,   &kStopGradient};

const RegisterOps kElementwiseUnaryRegistered(kElementwiseUnaryOps);

}  // namespace

Tensor neg(const Tensor& x) { return call_one(kNeg, {x}); }
Tensor abs(const Tensor& x) { return call_one(kAbs, {x}); }
Tensor sign(const Tensor& x) { return call_one(kSign, {x}); }
Tensor square(const Tensor& x) { return call_one(kSquare, {x}); }
Tensor scale(const Tensor& x, double factor) { return call_one(kScale, {x}, {{"factor", factor}}); }
Tensor shift(const Tensor& x, double offset) { return call_one(kShift, {x}, {{"offset", offset}}); }
Tensor clip(const Tensor& x, const Scalar& low, const Scalar& high) {
  if (x.dtype() == DType::i64 && (low.is_large() || high.is_large())) {
    return minimum(maximum(x, number_like(x, low)), number_like(x, high));
  }
  return call_one(kClip, {x}, {{"low", low.number()}, {"high", high.number()}});
}
Tensor stop_gradient(const Tensor& x) { return call_one(kStopGradient, {x}); }

}  // namespace plimsoll::ops
