#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/normalize.h>

#include "ops/in_place.h"

namespace plimsoll::ops {
namespace {

const OpDef kDropout = {
    .name = "dropout",
    .family = "normalize",
    .summary = "x / (1 - rate) where a draw says so, else 0",
    .types =
        [](const OpInputs& inputs) {
          const double rate = inputs.attributes().number("rate");
          if (!(rate >= 0 && rate < 1)) inputs.fail("the rate must be at least 0 and below 1");
          return std::vector<TensorType>{inputs[0]};
        },
    // The attributes name the op's place, so the same mask is drawn again.
    .gradient =
        [](GradientContext& g) { g.set(0, call_one(kDropout, {g.grad()}, g.attributes())); },
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType>) {
          return Cost{.flops = 25.0 * static_cast<double>(inputs[0].elements()),
                      .bytes = 2.0 * static_cast<double>(inputs[0].bytes())};
        },
    .in_place = kOverFirst,
    .cheap = true,
    .random = true,
};

constexpr std::array kDropoutOps = {&kDropout};

const RegisterOps kDropoutRegistered(kDropoutOps);

}  // namespace

Tensor dropout(const Tensor& x, double rate) {
  return rate == 0 ? x : call_one(kDropout, {x}, {{"rate", rate}});
}

}  // namespace plimsoll::ops
