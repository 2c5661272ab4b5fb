// Ops that write: the only way in which a parameter, a buffer or an optimizer's state changes.
#include <plimsoll/ops/update.h>

#include <array>

#include <plimsoll/ops/dispatcher.h>

namespace plimsoll::ops {
namespace {

const OpDef kAssign = {
    .name = "assign",
    .family = "update",
    .summary = "writes a value into a parameter, a buffer or state",
    .inputs = 2,
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          if (inputs[0] != inputs[1]) inputs.fail("target and value differ in type");
          return std::vector<TensorType>{inputs[0]};
        },
    .writes = 1,
    .precision = Precision::keep,
};

const OpDef kMoveTowards = {
    .name = "move_towards",
    .family = "update",
    .summary = "writes keep * target + share * value into target",
    .inputs = 2,
    .dtypes = {DType::f64, DType::f32},
    .types =
        [](const OpInputs& inputs) {
          if (inputs[0] != inputs[1]) inputs.fail("target and value differ in type");
          return std::vector<TensorType>{inputs[0]};
        },
    .writes = 1,
    .precision = Precision::keep,
};

constexpr std::array kUpdateOps = {&kAssign, &kMoveTowards};

const RegisterOps kUpdateRegistered(kUpdateOps);

}  // namespace

Tensor assign(const Tensor& target, const Tensor& value) {
  return call_one(kAssign, {target, value});
}

Tensor move_towards(const Tensor& target, const Tensor& value, double keep, double share) {
  return call_one(kMoveTowards, {target, value}, {{"keep", keep}, {"share", share}});
}

}  // namespace plimsoll::ops
