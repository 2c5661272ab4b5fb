#include <plimsoll/nn/rope.h>

#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {

RopeTables rope_tables(const Tensor& like, std::int64_t tokens, std::int64_t size, double theta,
                       std::int64_t first) {
  if (size < 2 || size % 2 != 0) {
    throw InvalidArgument(
        fmt::format("[rope] a head of {} elements; they are turned in pairs, so that it needs an "
                    "even number",
                    size));
  }
  const DType dtype = like.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t half = size / 2;
  const Tensor positions = ops::shift(ops::arange(tokens, dtype, like), static_cast<double>(first));
  const Tensor exponents =
      ops::scale(ops::arange(half, dtype, like), -2 * std::log(theta) / static_cast<double>(size));
  const Tensor angles = ops::mul(ops::reshape(positions, Shape{tokens, 1}),
                                 ops::reshape(ops::exp(exponents), Shape{1, half}));
  return {ops::cos(angles), ops::sin(angles)};
}

Tensor rope(const Tensor& x, const RopeTables& tables, RopeStyle style) {
  const Shape& table = tables.cos.shape();
  if (x.rank() < 2 || table != Shape{x.dim(-2), x.dim(-1) / 2} || x.dim(-1) % 2 != 0) {
    throw InvalidArgument(
        fmt::format("[rope] x is {} and the tables {}; they need [tokens, size / "
                    "2] for x [..., tokens, size]",
                    x.type().to_string(), tables.cos.type().to_string()));
  }
  const std::int64_t half = x.dim(-1) / 2;
  const int rank = x.rank();
  const bool halves = style == RopeStyle::halves;
  Shape pairs = x.shape().with_dim(-1, halves ? 2 : half);
  pairs = pairs.with_inserted(rank, halves ? half : 2);
  const int axis = halves ? rank - 1 : rank;
  const Shape one = x.shape().with_dim(-1, half);
  const std::vector<Tensor> both = ops::split(ops::reshape(x, pairs), {1, 1}, axis);
  const Tensor a = ops::cast(ops::reshape(both[0], one), tables.cos.dtype());
  const Tensor b = ops::cast(ops::reshape(both[1], one), tables.cos.dtype());
  const Tensor left = ops::sub(ops::mul(a, tables.cos), ops::mul(b, tables.sin));
  const Tensor right = ops::add(ops::mul(b, tables.cos), ops::mul(a, tables.sin));
  return ops::cast(ops::reshape(ops::stack({left, right}, axis), x.shape()), x.dtype());
}

}  // namespace plimsoll::nn
