#include <plimsoll/math/arrange.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/operators.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::math {
namespace {

/// `mask` broadcast to x, which is 0 where it is false.
Tensor masked(const char* who, const Tensor& x, std::int64_t diagonal, bool lower) {
  if (x.rank() < 2) {
    throw InvalidArgument(fmt::format("[{}] x is {}; it takes matrices, [..., rows, columns]", who,
                                      x.type().to_string()));
  }
  const Tensor zero = ops::full_like_type(x, {x.dtype(), {}}, 0);
  if (lower) return ops::where(lower_triangle(x.dim(-2), x.dim(-1), x, diagonal), x, zero);
  return ops::where(lower_triangle(x.dim(-2), x.dim(-1), x, diagonal - 1), zero, x);
}

}  // namespace

Tensor roll(const Tensor& x, std::int64_t by, int axis) {
  const int at = x.shape().index(axis);
  const std::int64_t extent = x.dim(at);
  if (extent == 0) return x;
  const std::int64_t first = ((by % extent) + extent) % extent;
  if (first == 0) return x;
  const std::vector<Tensor> parts = ops::split(x, {extent - first, first}, at);
  return ops::concat({parts[1], parts[0]}, at);
}

Tensor repeat(const Tensor& x, std::int64_t count, int axis) {
  const int at = x.shape().index(axis);
  if (count < 0) {
    throw InvalidArgument(fmt::format("[repeat] slices cannot be there {} times", count));
  }
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < at; ++i) outer *= x.dim(i);
  for (int i = at + 1; i < x.rank(); ++i) inner *= x.dim(i);
  const Tensor apart = ops::reshape(x, Shape{outer * x.dim(at), 1, inner});
  const Tensor repeated = ops::broadcast_to(apart, Shape{outer * x.dim(at), count, inner});
  return ops::reshape(repeated, x.shape().with_dim(at, x.dim(at) * count));
}

Tensor flip(const Tensor& x, int axis) {
  const int at = x.shape().index(axis);
  const Tensor order = ops::arange(x.dim(at), DType::i64, x);
  return ops::gather(x, ops::shift(ops::neg(order), static_cast<double>(x.dim(at) - 1)), at);
}

Tensor lower_triangle(std::int64_t rows, std::int64_t columns, const Tensor& like,
                      std::int64_t diagonal) {
  const Tensor down = ops::reshape(ops::arange(rows, DType::i64, like), Shape{rows, 1});
  const Tensor across = ops::reshape(ops::arange(columns, DType::i64, like), Shape{1, columns});
  return ops::greater_equal(ops::shift(down, static_cast<double>(diagonal)), across);
}

Tensor tril(const Tensor& x, std::int64_t diagonal) { return masked("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return masked("triu", x, diagonal, false); }

Tensor norm(const Tensor& x, Norm kind, const ops::ReduceOptions& options) {
  switch (kind) {
    case Norm::absolute:
      return ops::sum(ops::abs(x), options);
    case Norm::largest:
      return ops::max(ops::abs(x), options);
    case Norm::euclidean:
      break;
  }
  // In f32, where squares of 16 bits have room. The root has no slope at 0, where the gradient is
  // 0, as in PyTorch: the inner where keeps its infinity away from the outer one's zeros.
  const bool narrow = x.dtype() == DType::f16 || x.dtype() == DType::bf16;
  const Tensor wide = narrow ? ops::cast(x, DType::f32) : x;
  const Tensor squares = ops::sum(ops::square(wide), options);
  const Tensor zero = ops::number_like(squares, 0);
  const Tensor is_zero = ops::equal(squares, zero);
  return ops::cast(ops::where(is_zero, zero, ops::sqrt(where(is_zero, 1, squares))), x.dtype());
}

Tensor where(const Tensor& condition, double a, const Tensor& b) {
  return ops::where(condition, ops::number_like(b, a), b);
}
Tensor where(const Tensor& condition, const Tensor& a, double b) {
  return ops::where(condition, a, ops::number_like(a, b));
}

}  // namespace plimsoll::math
