#include <plimsoll/ops/softshrink.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

constexpr OpDef kSoftshrinkGrad = unary_grad_op("softshrink_grad", "dy where y is not 0, else 0");

constexpr OpDef kSoftshrink = [] {
  OpDef def = unary_op(
      "softshrink", "x brought nearer to zero by lambda, at most to it",
      [](GradientContext& g) {
        g.set(0, call_one(kSoftshrinkGrad, {g.grad(), g.output(0)}));
      },
      keeps_output);
  def.types = [](const OpInputs& inputs) {
    const double lambda = inputs.attributes().number("lambda");
    if (!(lambda >= 0)) inputs.fail(fmt::format("lambda must be at least 0, not {}", lambda));
    return std::vector<TensorType>{inputs[0]};
  };
  return def;
}();

constexpr std::array kSoftshrinkOps = {&kSoftshrink, &kSoftshrinkGrad};
const RegisterOps kSoftshrinkRegistered(kSoftshrinkOps);

}  // namespace

Tensor softshrink(const Tensor& x, double lambda) {
  return call_one(kSoftshrink, {x}, {{"lambda", lambda}});
}

}  // namespace plimsoll::ops
