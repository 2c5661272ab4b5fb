#include <plimsoll/nn/upsampling.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

/// [to, from]: what each of `to` elements takes from each of `from`, at most two of them. The rows
/// are triangles around where an element lies among those before.
Tensor weights(const Tensor& like, std::int64_t from, std::int64_t to, bool align_corners) {
  const DType dtype = like.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor index = ops::arange(to, dtype, like);
  const auto last = static_cast<double>(from - 1);
  Tensor at;
  if (align_corners) {
    at = ops::scale(index, to > 1 ? last / static_cast<double>(to - 1) : 0);
  } else {
    const double ratio = static_cast<double>(from) / static_cast<double>(to);
    at = ops::shift(ops::scale(ops::shift(index, 0.5), ratio), -0.5);
  }
  at = ops::reshape(ops::clip(at, 0, last), Shape{to, 1});
  const Tensor column = ops::reshape(ops::arange(from, dtype, like), Shape{1, from});
  return ops::relu(ops::shift(ops::neg(ops::abs(ops::sub(at, column))), 1));
}

void check_sizes(const char* who, const Tensor& x, int rank,
                 std::initializer_list<std::int64_t> to) {
  if (x.rank() != rank) {
    throw InvalidArgument(fmt::format(
        "[{}] the input is {}; it takes {}", who, x.type().to_string(),
        rank == 4 ? "images, [n, channels, height, width]" : "sequences, [n, channels, length]"));
  }
  // A batch may be empty; a picture may not.
  for (int i = 2; i < rank; ++i) {
    if (x.dim(i) > 0) continue;
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; dimension {} needs an element at least", who,
                    x.type().to_string(), i));
  }
  for (const std::int64_t extent : to) {
    if (extent < 1) {
      throw InvalidArgument(fmt::format("[{}] a size of {}; it must be at least 1", who, extent));
    }
  }
}

/// Along the last dimension.
Tensor across(const Tensor& x, std::int64_t to, bool align_corners) {
  return ops::linear(x, ops::cast(weights(x, x.dim(-1), to, align_corners), x.dtype()));
}

}  // namespace

Tensor resize_bilinear2d(const Tensor& x, std::int64_t height, std::int64_t width,
                         bool align_corners) {
  check_sizes("resize_bilinear2d", x, 4, {height, width});
  const Tensor wide = across(x, width, align_corners);
  const Tensor rows = ops::cast(weights(x, x.dim(2), height, align_corners), wide.dtype());
  return ops::matmul(rows, wide);
}

Tensor resize_linear1d(const Tensor& x, std::int64_t length, bool align_corners) {
  check_sizes("resize_linear1d", x, 3, {length});
  return across(x, length, align_corners);
}

Upsample2D::Upsample2D(std::int64_t factor, Upsampling mode) : factor_(factor), mode_(mode) {
  if (factor < 1) {
    throw InvalidArgument(
        fmt::format("[Upsample2D] a factor of {}; it must be at least 1", factor));
  }
}

Tensor Upsample2D::forward(const Tensor& x) const {
  if (mode_ == Upsampling::nearest) return ops::upsample_nearest2d(x, factor_);
  check_sizes("Upsample2D", x, 4, {});
  return resize_bilinear2d(x, x.dim(2) * factor_, x.dim(3) * factor_);
}

}  // namespace plimsoll::nn
