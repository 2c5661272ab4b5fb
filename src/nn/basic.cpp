#include <plimsoll/nn/basic.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {

Tensor Flatten::forward(const Tensor& x) const {
  std::int64_t features = 1;
  for (int i = 1; i < x.rank(); ++i) features *= x.shape()[i];
  return ops::reshape(x, Shape{x.dim(0), features});
}

Dropout::Dropout(double rate) : rate_(rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw InvalidArgument(fmt::format("[Dropout] the rate is {}; it must be in [0, 1)", rate));
  }
}

Tensor Dropout::forward(const Tensor& x) const {
  return training() && rate_ > 0 ? ops::dropout(x, rate_) : x;
}

}  // namespace plimsoll::nn
