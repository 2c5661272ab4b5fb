// where: one of two tensors, element by element.
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>

#include "ops/elementwise_defs.h"

namespace plimsoll::ops {
namespace {

constexpr std::array<InPlace, 2> kOverValues = {{{0, 1}, {0, 2}}};

constexpr OpDef kWhere = {
    .name = "where",
    .family = "elementwise",
    .summary = "a where the condition holds, else b",
    .inputs = 3,
    .dtypes = {DType::boolean},
    .types =
        [](const OpInputs& inputs) {
          inputs.require_same_dtype(1);
          if (inputs.dtype(1) == DType::bytes) inputs.fail("is not defined for bytes");
          return std::vector<TensorType>{{inputs.dtype(1), broadcast_shape(inputs)}};
        },
    .gradient =
        [](GradientContext& g) {
          const Tensor& condition = g.input(0);
          const Tensor dy = g.grad();
          const Tensor zero = full_like_type(dy, {dy.dtype(), Shape()}, 0.0);
          if (g.needs(1)) give_broadcast(g, 1, where(condition, dy, zero));
          if (g.needs(2)) give_broadcast(g, 2, where(condition, zero, dy));
        },
    .kept = keeps_input,
    .in_place = kOverValues,
    .cheap = true,
    .channels = {.rule = ChannelRule::pointwise},
};

constexpr std::array kSelectOps = {&kWhere};

const RegisterOps kSelectRegistered(kSelectOps);

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return call_one(kWhere, {condition, a, b});
}

}  // namespace plimsoll::ops
