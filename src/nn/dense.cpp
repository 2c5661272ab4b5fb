#include <plimsoll/nn/dense.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {

Dense::Dense(std::int64_t in, std::int64_t out, const DenseOptions& options)
    : transposed_(options.transposed),
      weight_(parameter("weight", transposed_ ? Shape{in, out} : Shape{out, in},
                        options.init.value_or(Init::fan_in_uniform(in)))),
      bias_(options.bias
                ? &parameter("bias", {out}, options.init ? Init::zeros() : Init::fan_in_uniform(in))
                : nullptr) {}

Tensor Dense::forward(const Tensor& x) const {
  const Tensor bias = bias_ != nullptr ? bias_->tensor() : Tensor();
  return ops::linear(x, weight_, bias, {.transposed = transposed_});
}

Embedding::Embedding(std::int64_t count, std::int64_t features, double deviation)
    : weight_(parameter("weight", {count, features}, Init::normal(deviation))) {}

Tensor Embedding::forward(const Tensor& ids) const {
  return in_compute_dtype(ops::embedding(weight_, ids));
}

Tensor in_compute_dtype(const Tensor& x) {
  const std::optional<DType> compute = ops::PrecisionScope::current();
  return compute && is_floating(x.dtype()) && x.dtype() != DType::f64 ? ops::cast(x, *compute) : x;
}

}  // namespace plimsoll::nn
