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
  return rope(x, tables, ops::RopeOptions{.style = style});
}

Tensor rope(const Tensor& x, const RopeTables& tables, const ops::RopeOptions& options) {
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  return ops::rope(x, ops::cast(tables.cos, dtype), ops::cast(tables.sin, dtype), options);
}

}  // namespace plimsoll::nn
