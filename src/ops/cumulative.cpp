// cumsum and cumprod. The gradient of a sum is the sum from the other end; that of a product needs
// no division, so that zeros do no harm.
#include <plimsoll/ops/cumulative.h>

#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/axis.h"
#include "ops/bools.h"

namespace plimsoll::ops {
namespace {

constexpr std::array<InPlace, 1> kInPlace = {{{0, 0}}};

std::vector<TensorType> cumulative_type(const OpInputs& inputs) {
  axis_of(inputs, inputs.shape(0).rank());
  (void)inputs.attributes().flag("reverse");
  return {inputs[0]};
}

const OpDef kCumsum = {
    .name = "cumsum",
    .family = "cumulative",
    .summary = "sums of the elements of a dimension up to each of them",
    .dtypes = kNumbers,
    .types = cumulative_type,
    .gradient =
        [](GradientContext& g) {
          Attributes attributes = g.attributes();
          attributes.set("reverse", !attributes.flag("reverse"));
          g.set(0, call_one(*find_op("cumsum"), {g.grad()}, attributes));
        },
    .kept = [](std::uint32_t) { return Kept{}; },
    .in_place = kInPlace,
    .cheap = true,
};

const OpDef kCumprodGrad = {
    .name = "cumprod_grad",
    .family = "cumulative",
    .summary = "the gradient of cumprod, of dy, x and y",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          if (inputs[0] != inputs[1] || inputs[0] != inputs[2]) {
            inputs.fail("the gradient, x and y differ in type");
          }
          return cumulative_type(inputs);
        },
};

const OpDef kCumprod = {
    .name = "cumprod",
    .family = "cumulative",
    .summary = "products of the elements of a dimension up to each of them",
    .dtypes = kNumbers,
    .types = cumulative_type,
    .gradient =
        [](GradientContext& g) {
          g.set(0, call_one(kCumprodGrad, {g.grad(), g.input(0), g.output(0)}, g.attributes()));
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 1, .outputs = 1}; },
    .in_place = kInPlace,
    .cheap = true,
};

constexpr std::array kCumulativeOps = {&kCumsum, &kCumprod, &kCumprodGrad};
const RegisterOps kCumulativeRegistered(kCumulativeOps);

/// Moves everything by one element along the axis, away from where it began, so that an element's
/// own share is left out; `start` comes in.
Tensor without_itself(const Tensor& y, int axis, bool reverse, double start) {
  if (y.dim(axis) == 0) return y;
  std::vector<std::int64_t> before(static_cast<std::size_t>(y.rank()), 0);
  std::vector<std::int64_t> after = before;
  const auto at = static_cast<std::size_t>(axis);
  before[at] = reverse ? -1 : 1;
  after[at] = reverse ? 1 : -1;
  return pad(y, before, after, start);
}

Tensor cumulative(const OpDef& def, const Tensor& x, int axis, const CumulativeOptions& options,
                  double start) {
  const std::int64_t at = axis_from_front(axis, x.rank());
  const Tensor y = call_one(def, {x}, {{"axis", at}, {"reverse", options.reverse}});
  return options.exclusive ? without_itself(y, static_cast<int>(at), options.reverse, start) : y;
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis, const CumulativeOptions& options) {
  return cumulative(kCumsum, bools_as(x, DType::i64), axis, options, 0);
}

Tensor cumprod(const Tensor& x, int axis, const CumulativeOptions& options) {
  return cumulative(kCumprod, bools_as(x, DType::i64), axis, options, 1);
}

}  // namespace plimsoll::ops
