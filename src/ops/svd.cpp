// svd: the reduced singular value decomposition.
#include <array>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/linalg.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/linalg_defs.h"

namespace plimsoll::ops {
namespace {

/// x [..., k] as [..., k, 1] or [..., 1, k].
Tensor as_column(const Tensor& x) { return reshape(x, x.shape().with_inserted(x.rank(), 1)); }
Tensor as_row(const Tensor& x) { return reshape(x, x.shape().with_inserted(x.rank() - 1, 1)); }

/// 1 / (s_j² - s_i²) at row i and column j, 0 on the diagonal.
Tensor gaps(const Tensor& s) {
  const Tensor squares = square(s);
  const Tensor differences = sub(as_row(squares), as_column(squares));
  const std::int64_t k = s.dim(-1);
  const Tensor down = reshape(arange(k, DType::i64, s), Shape{k, 1});
  const Tensor across = reshape(arange(k, DType::i64, s), Shape{1, k});
  const Tensor same = equal(down, across);
  const Tensor zero = full_like_type(s, {s.dtype(), Shape()}, 0);
  const Tensor one = full_like_type(s, {s.dtype(), Shape()}, 1);
  return where(same, zero, div(one, where(same, one, differences)));
}

/// What vectors [..., n, k], orthonormal, and their gradient say of the middle: gaps times the part
/// of vᵀ dv that is not symmetric.
Tensor turning(const Tensor& vectors, const Tensor& gradient, const Tensor& gaps) {
  const Tensor inner = matmul(vectors, gradient, {.transpose_a = true});
  return mul(gaps, sub(inner, transposed(inner)));
}

/// The part of `gradient` that lies outside the space of `vectors`.
Tensor outside(const Tensor& vectors, const Tensor& gradient) {
  return sub(gradient, matmul(vectors, matmul(vectors, gradient, {.transpose_a = true})));
}

void svd_gradient(GradientContext& g) {
  const Tensor& u = g.output(0);
  const Tensor& s = g.output(1);
  const Tensor& vh = g.output(2);
  const Tensor v = transposed(vh);
  const std::int64_t k = s.dim(-1);
  // The middle of u (...) vh.
  Tensor middle = on_diagonal(broadcast_to(as_column(g.grad(1)), vh.shape().with_dim(-1, k)));
  const bool by_vectors = g.has_grad(0) || g.has_grad(2);
  const Tensor between = by_vectors ? gaps(s) : Tensor();
  if (g.has_grad(0)) middle = add(middle, mul(turning(u, g.grad(0), between), as_row(s)));
  if (g.has_grad(2)) {
    middle = add(middle, mul(as_column(s), turning(v, transposed(g.grad(2)), between)));
  }
  Tensor da = matmul(u, matmul(middle, vh));
  if (g.has_grad(0) && u.dim(-2) > k) {
    da = add(da, matmul(div(outside(u, g.grad(0)), as_row(s)), vh));
  }
  if (g.has_grad(2) && v.dim(-2) > k) {
    const Tensor rest = div(outside(v, transposed(g.grad(2))), as_row(s));
    da = add(da, matmul(u, rest, {.transpose_b = true}));
  }
  g.set(0, da);
}

const OpDef kSvd = {
    .name = "svd",
    .family = "linalg",
    .summary = "u, s and vh with a = u diag(s) vh",
    .dtypes = kMatrixDTypes,
    .types =
        [](const OpInputs& inputs) {
          const Shape& a = inputs.shape(0);
          if (a.rank() < 2) inputs.fail("a must be matrices, [..., m, n]");
          const std::int64_t k = std::min(a.dim(-1), a.dim(-2));
          const DType dtype = inputs.dtype(0);
          return std::vector<TensorType>{{dtype, a.with_dim(-1, k)},
                                         {dtype, a.with_removed(a.rank() - 1).with_dim(-1, k)},
                                         {dtype, a.with_dim(-2, k)}};
        },
    .gradient = svd_gradient,
    .kept = [](std::uint32_t) { return Kept{.outputs = 7}; },
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          const auto k = static_cast<double>(outputs[1].shape.dim(-1));
          return Cost{.flops = 20 * k * static_cast<double>(inputs[0].elements()),
                      .bytes = 3.0 * static_cast<double>(inputs[0].bytes())};
        },
    .precision = Precision::full,
};

constexpr std::array kSvdOps = {&kSvd};
const RegisterOps kSvdRegistered(kSvdOps);

}  // namespace

Svd svd(const Tensor& a) {
  const auto parts = call(kSvd, std::span<const Tensor>(&a, 1));
  return {parts[0], parts[1], parts[2]};
}

}  // namespace plimsoll::ops
