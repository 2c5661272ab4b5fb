#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>

namespace plimsoll::ops {
namespace {

const OpDef kCast = {
    .name = "cast",
    .family = "elementwise",
    .summary = "the values in another dtype",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const DType to = inputs.attributes().dtype("dtype");
          if (to == DType::bytes) inputs.fail("cannot cast to bytes");
          return std::vector<TensorType>{{to, inputs.shape(0)}};
        },
    .gradient = [](GradientContext& g) { g.set(0, cast(g.grad(), g.input_type(0).dtype)); },
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::pointwise},
    .casts = true,
};

constexpr std::array kCastOps = {&kCast};

const RegisterOps kCastRegistered(kCastOps);

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : call_one(kCast, {x}, {{"dtype", dtype}});
}

}  // namespace plimsoll::ops
