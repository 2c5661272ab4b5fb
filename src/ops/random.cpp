// Tensors from nothing: fills and random draws.
#include <plimsoll/ops/random.h>

#include <array>

#include <plimsoll/ops/dispatcher.h>

#include "ops/families.h"

namespace plimsoll::ops {
namespace {

const OpDef kFull = {
    .name = "full",
    .family = "random",
    .summary = "one value everywhere",
    .inputs = 0,
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Attributes& a = inputs.attributes();
          return std::vector<TensorType>{{a.dtype("dtype"), a.shape("shape")}};
        },
    .cheap = true,
};

constexpr std::array kOps = {&kFull};

Attributes full_attributes(const TensorType& type, double value) {
  return {{"shape", to_integers(type.shape)}, {"dtype", type.dtype}, {"value", value}};
}

}  // namespace

Family random_ops() { return kOps; }

Tensor full_like_type(const Tensor& like, const TensorType& type, double value) {
  return call_like(like, kFull, full_attributes(type, value)).front();
}
Tensor full(const Shape& shape, double value, DType dtype, const Device& device) {
  return call_on(device, kFull, full_attributes({dtype, shape}, value)).front();
}
Tensor zeros_like(const Tensor& x) { return full_like_type(x, x.type(), 0.0); }
Tensor ones_like(const Tensor& x) { return full_like_type(x, x.type(), 1.0); }

}  // namespace plimsoll::ops
