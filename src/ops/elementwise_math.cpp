// sqrt, exp, sin ...: functions of one tensor. Those whose results 16 bits overflow or blur stay in
// f32 under a mixed-precision policy.
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

Tensor sqrt_slope(const Tensor& product, const Tensor& y) {
  return scale(div(product, square(y)), -0.5);
}
Tensor rsqrt_slope(const Tensor& product, const Tensor& y) {
  return scale(mul(product, square(y)), -1.5);
}
Tensor reciprocal_slope(const Tensor& product, const Tensor& y) {
  return scale(mul(product, y), -2);
}
Tensor log1p_slope(const Tensor& product, const Tensor& x) {
  return neg(div(product, square(shift(x, 1))));
}
Tensor sin_slope(const Tensor& product, const Tensor& x) { return neg(mul(product, sin(x))); }
Tensor cos_slope(const Tensor& product, const Tensor& x) { return neg(mul(product, cos(x))); }
Tensor erf_slope(const Tensor& product, const Tensor& x) {
  return scale(mul(call_one(*find_op("erf_grad"), {product, x}), x), -2);
}

constexpr OpDef kSqrtGrad =
    unary_grad_op("sqrt_grad", "the gradient of sqrt from y", second<"sqrt_grad", sqrt_slope>);
constexpr OpDef kRsqrtGrad =
    unary_grad_op("rsqrt_grad", "the gradient of rsqrt from y", second<"rsqrt_grad", rsqrt_slope>);
constexpr OpDef kReciprocalGrad = unary_grad_op("reciprocal_grad", "that of reciprocal from y",
                                                second<"reciprocal_grad", reciprocal_slope>);
constexpr OpDef kLog1pGrad =
    unary_grad_op("log1p_grad", "the gradient of log1p from x", second<"log1p_grad", log1p_slope>);
constexpr OpDef kSinGrad =
    unary_grad_op("sin_grad", "the gradient of sin from x", second<"sin_grad", sin_slope>);
constexpr OpDef kCosGrad =
    unary_grad_op("cos_grad", "the gradient of cos from x", second<"cos_grad", cos_slope>);
constexpr OpDef kErfGrad =
    unary_grad_op("erf_grad", "the gradient of erf from x", second<"erf_grad", erf_slope>);

constexpr OpDef kSqrt = unary_op("sqrt", "the square root", from_output<kSqrtGrad>, keeps_output);
constexpr OpDef kRsqrt = unary_op("rsqrt", "1 / sqrt(x)", from_output<kRsqrtGrad>, keeps_output,
                                  kFloats, Precision::full);
constexpr OpDef kReciprocal = unary_op("reciprocal", "1 / x", from_output<kReciprocalGrad>,
                                       keeps_output, kFloats, Precision::full);
constexpr OpDef kExp = unary_op(
    "exp", "e to the x", [](GradientContext& g) { g.set(0, mul(g.grad(), g.output(0))); },
    keeps_output, kFloats, Precision::full);
constexpr OpDef kLog = unary_op(
    "log", "the natural logarithm", [](GradientContext& g) { g.set(0, div(g.grad(), g.input(0))); },
    keeps_input, kFloats, Precision::full);
constexpr OpDef kLog1p =
    unary_op("log1p", "log(1 + x)", from_input<kLog1pGrad>, keeps_input, kFloats, Precision::full);
constexpr OpDef kSin = unary_op("sin", "the sine", from_input<kSinGrad>, keeps_input);
constexpr OpDef kCos = unary_op("cos", "the cosine", from_input<kCosGrad>, keeps_input);
constexpr OpDef kErf = unary_op("erf", "the error function", from_input<kErfGrad>, keeps_input);

/// Flat between its jumps.
constexpr OpDef stepped(std::string_view name, std::string_view summary) {
  OpDef def = unary_op(name, summary, nullptr, nullptr);
  def.stops_gradient = true;
  return def;
}
constexpr OpDef kFloor = stepped("floor", "the integer below");
constexpr OpDef kRound = stepped("round", "the nearest integer, halves to even");

constexpr std::array kElementwiseMathOps = {
    &kSqrt, &kSqrtGrad, &kRsqrt, &kRsqrtGrad, &kReciprocal, &kReciprocalGrad,
    &kExp,  &kLog,      &kLog1p, &kLog1pGrad, &kSin,        &kSinGrad,
    &kCos,  &kCosGrad,  &kErf,   &kErfGrad,   &kFloor,      &kRound};

const RegisterOps kElementwiseMathRegistered(kElementwiseMathOps);

}  // namespace

Tensor sqrt(const Tensor& x) { return call_one(kSqrt, {x}); }
Tensor rsqrt(const Tensor& x) { return call_one(kRsqrt, {x}); }
Tensor reciprocal(const Tensor& x) { return call_one(kReciprocal, {x}); }
Tensor exp(const Tensor& x) { return call_one(kExp, {x}); }
Tensor log(const Tensor& x) { return call_one(kLog, {x}); }
Tensor log1p(const Tensor& x) { return call_one(kLog1p, {x}); }
Tensor sin(const Tensor& x) { return call_one(kSin, {x}); }
Tensor cos(const Tensor& x) { return call_one(kCos, {x}); }
Tensor erf(const Tensor& x) { return call_one(kErf, {x}); }
Tensor floor(const Tensor& x) { return call_one(kFloor, {x}); }
Tensor round(const Tensor& x) { return call_one(kRound, {x}); }

}  // namespace plimsoll::ops
