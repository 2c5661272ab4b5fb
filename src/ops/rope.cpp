#include <plimsoll/ops/rope.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/in_place.h"
#include "ops/sum_dtype.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> rope_types(const OpInputs& inputs) {
  const Shape& x = inputs.shape(0);
  const std::int64_t size = inputs.attributes().integer("size");
  const std::int64_t heads = inputs.attributes().integer("heads");
  if (x.rank() < 2) inputs.fail("x needs at least two dimensions: [...,tokens,heads*size]");
  if (size < 2 || size % 2 != 0) {
    inputs.fail(
        fmt::format("a head of {} elements cannot be turned: they are turned in pairs", size));
  }
  if (x.dim(-1) % size != 0 || heads < 0 || heads > x.dim(-1) / size) {
    inputs.fail(fmt::format("rows of {} elements do not have {} heads of {}", x.dim(-1),
                            heads == 0 ? 1 : heads, size));
  }
  const TensorType table = {sum_dtype(inputs.dtype(0)), Shape{x.dim(-2), size / 2}};
  if (inputs[1] != table || inputs[2] != table) {
    inputs.fail(fmt::format("cosines and sines must be {} each", table.to_string()));
  }
  return {inputs[0]};
}

/// The first and the second elements of all pairs that are turned: [rows, tokens, heads, size / 2]
/// each, in the dtype of the tables.
std::array<Tensor, 2> pairs_of(const Tensor& x, const Attributes& attributes, DType dtype) {
  const std::int64_t half = attributes.integer("size") / 2;
  const std::int64_t heads = attributes.integer("heads");
  const bool interleaved = attributes.flag("interleaved");
  const std::int64_t tokens = x.dim(-2);
  const std::int64_t turned = heads * half * 2;
  const std::int64_t rows = x.elements() / (tokens * x.dim(-1));
  const Tensor part = cast(slice(x, -1, 0, turned), dtype);
  const Tensor apart = reshape(part, interleaved ? Shape{rows, tokens, heads, half, 2}
                                                 : Shape{rows, tokens, heads, 2, half});
  const std::vector<Tensor> both = split(apart, {1, 1}, interleaved ? 4 : 3);
  const Shape one{rows, tokens, heads, half};
  return {reshape(both[0], one), reshape(both[1], one)};
}

void rope_gradient(GradientContext& g);

const OpDef kRope = {
    .name = "rope",
    .family = "rope",
    .summary = "pairs of each row's first heads, turned by the angles of its token",
    .inputs = 3,
    .types = rope_types,
    .gradient = rope_gradient,
    .kept = [](std::uint32_t needed) { return Kept{.inputs = (needed & 6U) != 0 ? 7U : 6U}; },
    .cost =
        [](const OpInputs& in, std::span<const TensorType> out) {
          const double bytes =
              2 * static_cast<double>(out[0].bytes()) + 2 * static_cast<double>(in[1].bytes());
          return Cost{3 * static_cast<double>(out[0].elements()), bytes};
        },
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
};

void rope_gradient(GradientContext& g) {
  const bool inverse = g.attributes().flag("inverse");
  if (g.needs(0)) {
    Attributes back = g.attributes();
    back.set("inverse", !inverse);
    g.set(0, call_one(kRope, {g.grad(), g.input(1), g.input(2)}, back));
  }
  if (!g.needs(1) && !g.needs(2)) return;
  const TensorType& table = g.input_type(1);
  if (g.input_type(0).elements() == 0) {
    for (const int i : {1, 2}) g.set(i, full_like_type(g.grad(), table, 0));
    return;
  }
  const auto [a, b] = pairs_of(g.input(0), g.attributes(), table.dtype);
  const auto [da, db] = pairs_of(g.grad(), g.attributes(), table.dtype);
  const ReduceOptions over{.axes = {0, 2}};
  g.set(1, sum(add(mul(da, a), mul(db, b)), over));
  const Tensor by_sine = sum(sub(mul(db, a), mul(da, b)), over);
  g.set(2, inverse ? neg(by_sine) : by_sine);
}

constexpr std::array kRopeOps = {&kRope};
const RegisterOps kRopeRegistered(kRopeOps);

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const RopeOptions& options) {
  const std::int64_t columns = x.defined() && x.rank() > 0 ? x.dim(-1) : 0;
  const std::int64_t size = options.size == 0 ? columns : options.size;
  const std::int64_t heads = options.heads == 0 && size > 0 ? columns / size : options.heads;
  return call_one(kRope, {x, cos, sin},
                  {{"size", size},
                   {"heads", heads},
                   {"interleaved", options.style == RopeStyle::interleaved},
                   {"inverse", false}});
}

}  // namespace plimsoll::ops
