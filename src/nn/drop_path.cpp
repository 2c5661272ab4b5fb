#include <plimsoll/nn/drop_path.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>

namespace plimsoll::nn {
namespace {

double checked(double rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw InvalidArgument(fmt::format("[drop_path] the rate is {}; it must be in [0, 1)", rate));
  }
  return rate;
}

}  // namespace

Tensor drop_path(const Tensor& x, double rate) {
  if (checked(rate) == 0) return x;
  Shape one = x.shape();
  for (int i = 1; i < x.rank(); ++i) one = one.with_dim(i, 1);
  return ops::mul(x, ops::dropout(ops::full_like_type(x, {x.dtype(), one}, 1), rate));
}

DropPath::DropPath(double rate) : rate_(checked(rate)) {}

Tensor DropPath::forward(const Tensor& x) const { return training() ? drop_path(x, rate_) : x; }

}  // namespace plimsoll::nn
