// Matrix products.
#include <plimsoll/ops/matmul.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/reduce.h>

#include "ops/families.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> matmul_types(const OpInputs& inputs) {
  inputs.require_same_dtype();
  const Shape& a = inputs.shape(0);
  const Shape& b = inputs.shape(1);
  if (a.rank() < 2 || b.rank() < 2) inputs.fail("both inputs need at least two dimensions");
  const bool ta = inputs.attributes().flag("transpose_a");
  const bool tb = inputs.attributes().flag("transpose_b");
  const std::int64_t inner = a.dim(ta ? -2 : -1);
  if (inner != b.dim(tb ? -1 : -2)) {
    inputs.fail(fmt::format("inner extents {} and {} differ", inner, b.dim(tb ? -1 : -2)));
  }
  std::vector<std::int64_t> dims;
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank - 2; ++i) {
    const int l = i - (rank - a.rank());
    const int r = i - (rank - b.rank());
    const std::int64_t x = l < 0 ? 1 : a[l];
    const std::int64_t y = r < 0 ? 1 : b[r];
    if (x != y && x != 1 && y != 1) inputs.fail("batch dimensions do not broadcast");
    dims.push_back(x == 1 ? y : x);
  }
  dims.push_back(a.dim(ta ? -1 : -2));
  dims.push_back(b.dim(tb ? -2 : -1));
  return {{inputs.dtype(0), Shape(std::span<const std::int64_t>(dims))}};
}

Cost matmul_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost;
  const std::int64_t inner = inputs.shape(0).dim(inputs.attributes().flag("transpose_a") ? -2 : -1);
  cost.flops = 2.0 * static_cast<double>(outputs[0].elements()) * static_cast<double>(inner);
  cost.bytes = static_cast<double>(inputs[0].bytes() + inputs[1].bytes() + outputs[0].bytes());
  return cost;
}

void matmul_gradient(GradientContext& g) {
  const bool ta = g.attributes().flag("transpose_a");
  const bool tb = g.attributes().flag("transpose_b");
  if (g.needs(0)) {
    const Tensor& b = g.input(1);
    const Tensor da = ta ? matmul(b, g.grad(), {.transpose_a = tb, .transpose_b = true})
                         : matmul(g.grad(), b, {.transpose_b = !tb});
    g.set(0, sum_to(da, g.input_type(0).shape));
  }
  if (g.needs(1)) {
    const Tensor& a = g.input(0);
    const Tensor db = tb ? matmul(g.grad(), a, {.transpose_a = true, .transpose_b = ta})
                         : matmul(a, g.grad(), {.transpose_a = !ta});
    g.set(1, sum_to(db, g.input_type(1).shape));
  }
}

const OpDef kMatmul = {
    .name = "matmul",
    .family = "matmul",
    .summary = "matrix products over the last two dimensions",
    .inputs = 2,
    .dtypes = kFloats,
    .types = matmul_types,
    .gradient = matmul_gradient,
    .kept =
        [](std::uint32_t needed) {
          return Kept{.inputs = ((needed & 1U) != 0 ? 2U : 0U) | ((needed & 2U) != 0 ? 1U : 0U)};
        },
    .cost = matmul_cost,
    .precision = Precision::compute,
};

constexpr std::array kOps = {&kMatmul};

}  // namespace

Family matmul_ops() { return kOps; }

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  return call_one(kMatmul, {a, b},
                  {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

}  // namespace plimsoll::ops
