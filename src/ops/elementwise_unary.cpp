// neg, square, relu ...: one tensor.
#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "ops/broadcast.h"
#include "ops/families.h"

namespace plimsoll::ops {
namespace {

constexpr std::array<InPlace, 1> kInPlace = {{{0, 0}}};

const OpDef kNeg = {
    .name = "neg",
    .family = "elementwise",
    .summary = "-x",
    .dtypes = kNumbers,
    .types = same_type,
    .gradient = [](GradientContext& g) { g.set(0, neg(g.grad())); },
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kSquare = {
    .name = "square",
    .family = "elementwise",
    .summary = "x * x",
    .dtypes = kNumbers,
    .types = same_type,
    .gradient = [](GradientContext& g) { g.set(0, scale(mul(g.grad(), g.input(0)), 2)); },
    .kept = [](std::uint32_t) { return Kept{.inputs = 1}; },
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kRelu = {
    .name = "relu",
    .family = "elementwise",
    .summary = "max(x, 0)",
    .dtypes = kFloats,
    .types = same_type,
    .gradient =
        [](GradientContext& g) {
          static const OpDef& grad = *find_op("relu_grad");
          g.set(0, call_one(grad, {g.grad(), g.output(0)}));
        },
    .kept = [](std::uint32_t) { return Kept{.outputs = 1}; },
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kReluGrad = {
    .name = "relu_grad",
    .family = "elementwise",
    .summary = "dy where y > 0, else 0",
    .inputs = 2,
    .types = same_type,
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kScale = {
    .name = "scale",
    .family = "elementwise",
    .summary = "x * factor",
    .dtypes = kNumbers,
    .types = same_type,
    .gradient =
        [](GradientContext& g) { g.set(0, scale(g.grad(), g.attributes().number("factor"))); },
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kStopGradient = {
    .name = "stop_gradient",
    .family = "elementwise",
    .summary = "x, without a gradient",
    .dtypes = kAnyDType,
    .types = same_type,
    .view = true,
    .stops_gradient = true,
    .cheap = true,
};

constexpr std::array kOps = {&kNeg, &kSquare, &kRelu, &kReluGrad, &kScale, &kStopGradient};

}  // namespace

Family elementwise_unary_ops() { return kOps; }

Tensor neg(const Tensor& x) { return call_one(kNeg, {x}); }
Tensor square(const Tensor& x) { return call_one(kSquare, {x}); }
Tensor relu(const Tensor& x) { return call_one(kRelu, {x}); }
Tensor scale(const Tensor& x, double factor) { return call_one(kScale, {x}, {{"factor", factor}}); }
Tensor stop_gradient(const Tensor& x) { return call_one(kStopGradient, {x}); }

}  // namespace plimsoll::ops
