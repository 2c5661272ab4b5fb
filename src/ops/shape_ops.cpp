// reshape, broadcast ...: the same elements elsewhere.
#include <plimsoll/ops/shape_ops.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/reduce.h>

#include "ops/families.h"

namespace plimsoll::ops {
namespace {

const OpDef kReshape = {
    .name = "reshape",
    .family = "shape",
    .summary = "the same elements under another shape",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape shape = inputs.attributes().shape("shape");
          if (shape.elements() != inputs[0].elements()) {
            inputs.fail(
                fmt::format("{} elements do not fit {}", inputs[0].elements(), shape.to_string()));
          }
          return std::vector<TensorType>{{inputs.dtype(0), shape}};
        },
    .gradient = [](GradientContext& g) { g.set(0, reshape(g.grad(), g.input_type(0).shape)); },
    .view = true,
    .cheap = true,
};

const OpDef kBroadcastTo = {
    .name = "broadcast_to",
    .family = "shape",
    .summary = "repeats dimensions of extent 1",
    .dtypes = kAnyDType,
    .types =
        [](const OpInputs& inputs) {
          const Shape& from = inputs.shape(0);
          const Shape to = inputs.attributes().shape("shape");
          const int extra = to.rank() - from.rank();
          bool fits = extra >= 0;
          for (int i = 0; fits && i < from.rank(); ++i) {
            fits = from[i] == 1 || from[i] == to[i + extra];
          }
          if (!fits) inputs.fail(fmt::format("does not broadcast to {}", to.to_string()));
          return std::vector<TensorType>{{inputs.dtype(0), to}};
        },
    .gradient = [](GradientContext& g) { g.set(0, sum_to(g.grad(), g.input_type(0).shape)); },
    .cheap = true,
};

constexpr std::array kOps = {&kReshape, &kBroadcastTo};

}  // namespace

Family shape_ops() { return kOps; }

Tensor reshape(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : call_one(kReshape, {x}, {{"shape", to_integers(shape)}});
}

Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> dims = shape;
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : dims) {
    if (extent != -1) {
      known *= extent;
    } else if (open == nullptr) {
      open = &extent;
    } else {
      const TensorType type = x.type();
      const Attributes given = {{"shape", shape}};
      OpInputs(kReshape, {&type, 1}, given).fail("at most one extent can be -1");
    }
  }
  if (open != nullptr) *open = known == 0 ? 0 : x.elements() / known;
  return reshape(x, Shape(std::span<const std::int64_t>(dims)));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : call_one(kBroadcastTo, {x}, {{"shape", to_integers(shape)}});
}

}  // namespace plimsoll::ops
