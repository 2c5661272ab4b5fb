// add, sub, mul ...: two tensors, broadcast.
#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>

#include "ops/broadcast.h"
#include "ops/families.h"

namespace plimsoll::ops {
namespace {

constexpr std::array<InPlace, 2> kEither = {{{0, 0}, {0, 1}}};

Kept keeps_other(std::uint32_t needed) {
  return {.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
}

void give(GradientContext& g, int input, const Tensor& gradient) {
  g.set(input, sum_to(gradient, g.input_type(input).shape));
}

const OpDef kAdd = {
    .name = "add",
    .family = "elementwise",
    .summary = "a + b",
    .inputs = 2,
    .dtypes = kNumbers,
    .types = broadcast_types,
    .gradient =
        [](GradientContext& g) {
          if (g.needs(0)) give(g, 0, g.grad());
          if (g.needs(1)) give(g, 1, g.grad());
        },
    .in_place = kEither,
    .cheap = true,
};

const OpDef kSub = {
    .name = "sub",
    .family = "elementwise",
    .summary = "a - b",
    .inputs = 2,
    .dtypes = kNumbers,
    .types = broadcast_types,
    .gradient =
        [](GradientContext& g) {
          if (g.needs(0)) give(g, 0, g.grad());
          if (g.needs(1)) give(g, 1, neg(g.grad()));
        },
    .in_place = kEither,
    .cheap = true,
};

const OpDef kMul = {
    .name = "mul",
    .family = "elementwise",
    .summary = "a * b",
    .inputs = 2,
    .dtypes = kNumbers,
    .types = broadcast_types,
    .gradient =
        [](GradientContext& g) {
          if (g.needs(0)) give(g, 0, mul(g.grad(), g.input(1)));
          if (g.needs(1)) give(g, 1, mul(g.grad(), g.input(0)));
        },
    .kept = keeps_other,
    .in_place = kEither,
    .cheap = true,
};

constexpr std::array kOps = {&kAdd, &kSub, &kMul};

}  // namespace

Family elementwise_binary_ops() { return kOps; }

Tensor add(const Tensor& a, const Tensor& b) { return call_one(kAdd, {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return call_one(kSub, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return call_one(kMul, {a, b}); }

}  // namespace plimsoll::ops
