// solve, cholesky, triangular_solve: matrices over the last two dimensions.
#include <plimsoll/ops/linalg.h>

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>

#include "ops/linalg_defs.h"

namespace plimsoll::ops {
namespace {

void require_square(const OpInputs& inputs) {
  const Shape& a = inputs.shape(0);
  if (a.rank() < 2 || a.dim(-1) != a.dim(-2)) inputs.fail("a must be square, [..., n, n]");
}

std::vector<TensorType> solve_types(const OpInputs& inputs) {
  require_square(inputs);
  inputs.require_same_dtype();
  const Shape& a = inputs.shape(0);
  const Shape& b = inputs.shape(1);
  if (b.rank() != a.rank() || b.with_dim(-1, a.dim(-1)) != a) {
    inputs.fail(fmt::format("b must be {}, for any number of columns",
                            a.with_dim(-1, b.rank() > 0 ? b.dim(-1) : 1).to_string()));
  }
  return {inputs[1]};
}

Cost cubic_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  const double extent = static_cast<double>(inputs.shape(0).dim(-1));
  const auto moved = static_cast<double>(inputs[0].bytes() + 2 * outputs[0].bytes());
  return {.flops = extent * static_cast<double>(inputs[0].elements() + 2 * outputs[0].elements()),
          .bytes = moved};
}

const OpDef kSolve = {
    .name = "solve",
    .family = "linalg",
    .summary = "x with a x = b",
    .inputs = 2,
    .dtypes = kMatrixDTypes,
    .types = solve_types,
    .gradient =
        [](GradientContext& g) {
          const Tensor db = solve(transposed(g.input(0)), g.grad());
          if (g.needs(0)) g.set(0, neg(matmul(db, g.output(0), {.transpose_b = true})));
          if (g.needs(1)) g.set(1, db);
        },
    .kept =
        [](std::uint32_t needed) {
          return Kept{.inputs = 1, .outputs = (needed & 1U) != 0 ? 1U : 0U};
        },
    .cost = cubic_cost,
    .precision = Precision::full,
};

const OpDef kTriangularSolve = {
    .name = "triangular_solve",
    .family = "linalg",
    .summary = "x with a x = b, where a is a triangle",
    .inputs = 2,
    .dtypes = kMatrixDTypes,
    .types =
        [](const OpInputs& inputs) {
          (void)inputs.attributes().flag("upper");
          (void)inputs.attributes().flag("transpose");
          return solve_types(inputs);
        },
    .gradient =
        [](GradientContext& g) {
          const bool upper = g.attributes().flag("upper");
          const bool transpose = g.attributes().flag("transpose");
          const Tensor db =
              triangular_solve(g.input(0), g.grad(), {.upper = upper, .transpose = !transpose});
          if (g.needs(1)) g.set(1, db);
          if (!g.needs(0)) return;
          const Tensor da = transpose ? matmul(g.output(0), db, {.transpose_b = true})
                                      : matmul(db, g.output(0), {.transpose_b = true});
          g.set(0, neg(triangle(da, upper)));
        },
    .kept =
        [](std::uint32_t needed) {
          return Kept{.inputs = 1, .outputs = (needed & 1U) != 0 ? 1U : 0U};
        },
    .cost = cubic_cost,
    .precision = Precision::full,
};

const OpDef kCholesky = {
    .name = "cholesky",
    .family = "linalg",
    .summary = "the lower triangle l with l lᵀ = (a + aᵀ) / 2",
    .dtypes = kMatrixDTypes,
    .types =
        [](const OpInputs& inputs) {
          require_square(inputs);
          return std::vector<TensorType>{inputs[0]};
        },
    .gradient =
        [](GradientContext& g) {
          // With p the lower triangle of lᵀ dl, its diagonal halved: l⁻ᵀ (p + pᵀ) / 2 l⁻¹.
          const Tensor& l = g.output(0);
          const Tensor p = triangle(matmul(l, g.grad(), {.transpose_a = true}), false);
          const Tensor whole = sub(add(p, transposed(p)), on_diagonal(p));
          const TriangularOptions back = {.transpose = true};
          const Tensor half = triangular_solve(l, whole, back);  // l⁻ᵀ s, and s is symmetric
          g.set(0, scale(triangular_solve(l, transposed(half), back), 0.5));
        },
    .kept = [](std::uint32_t) { return Kept{.outputs = 1}; },
    .cost = cubic_cost,
    .precision = Precision::full,
};

constexpr std::array kLinalgOps = {&kSolve, &kTriangularSolve, &kCholesky};
const RegisterOps kLinalgRegistered(kLinalgOps);

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) { return call_one(kSolve, {a, b}); }

Tensor cholesky(const Tensor& a) { return call_one(kCholesky, {a}); }

Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  return call_one(kTriangularSolve, {a, b},
                  {{"upper", options.upper}, {"transpose", options.transpose}});
}

}  // namespace plimsoll::ops
