#include "ops/linalg_defs.h"

#include <numeric>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::ops {
namespace {

/// Numbers of rows and columns, as [rows, 1] and [1, columns].
struct Places {
  Tensor down;
  Tensor across;
  Places(std::int64_t rows, std::int64_t columns, const Tensor& like)
      : down(reshape(arange(rows, DType::i64, like), Shape{rows, 1})),
        across(reshape(arange(columns, DType::i64, like), Shape{1, columns})) {}
};

Tensor zero_like(const Tensor& x) { return full_like_type(x, {x.dtype(), Shape()}, 0); }

}  // namespace

Tensor transposed(const Tensor& x) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Tensor lower_mask(std::int64_t rows, std::int64_t columns, const Tensor& like) {
  const Places places(rows, columns, like);
  return greater_equal(places.down, places.across);
}

Tensor triangle(const Tensor& x, bool upper) {
  const Places places(x.dim(-2), x.dim(-1), x);
  const Tensor mask =
      upper ? less_equal(places.down, places.across) : greater_equal(places.down, places.across);
  return where(mask, x, zero_like(x));
}

Tensor on_diagonal(const Tensor& x) {
  const Places places(x.dim(-2), x.dim(-1), x);
  return where(equal(places.down, places.across), x, zero_like(x));
}

}  // namespace plimsoll::ops
