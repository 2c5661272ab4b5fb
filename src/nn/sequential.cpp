#include <plimsoll/nn/sequential.h>

#include <plimsoll/ops/elementwise.h>

namespace plimsoll::nn {

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const auto& child : children()) y = (*child)(y);
  return y;
}

Tensor Residual::forward(const Tensor& x) const {
  const Tensor beside = children().size() > 1 ? (*children()[1])(x) : x;
  return ops::add(beside, (*children()[0])(x));
}

}  // namespace plimsoll::nn
