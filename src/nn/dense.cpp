#include <plimsoll/nn/dense.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/join_rows.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/shape_ops.h>

#include "nn/joined.h"

namespace plimsoll::nn {

Dense::Dense(std::int64_t out, const DenseOptions& options) : out_(out), options_(options) {
  if (options.transposed && options.form != WeightForm::plain) {
    throw InvalidArgument(
        "[Dense] a weight that lies as [in, out] cannot be normalised; leave out .transposed");
  }
  if (out < 1) {
    throw InvalidArgument(fmt::format("[Dense] {} features out; there must be at least 1", out));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void Dense::declare(std::int64_t in) const {
  const Init fan_in = Init::fan_in_uniform(in);
  declare_weight(options_.transposed ? Shape{in, out_} : Shape{out_, in},
                 options_.init.value_or(fan_in), options_.form);
  if (options_.bias) parameter("bias", {out_}, options_.init ? Init::zeros() : fan_in);
}

Tensor Dense::forward(const Tensor& x) const {
  if (!has_weight(options_.form)) declare(x.dim(-1));
  const Parameter* bias = own("bias");
  return ops::linear(x, weight_value(options_.form), bias != nullptr ? bias->value() : Tensor(),
                     {.transposed = options_.transposed});
}

const Parameter& Dense::weight() const { return weight_parameter(options_.form, "Dense"); }

namespace {

Shape table_of(std::int64_t count, std::int64_t features) {
  if (count < 1 || features < 1) {
    throw InvalidArgument(fmt::format(
        "[Embedding] {} rows of {} features; there must be at least 1 of each", count, features));
  }
  return {count, features};
}

}  // namespace

Embedding::Embedding(std::int64_t count, std::int64_t features, double deviation)
    : weight_(parameter("weight", table_of(count, features), Init::normal(deviation))) {}

Tensor Embedding::forward(const Tensor& ids) const {
  return in_compute_dtype(ops::embedding(weight_, ids));
}

Tensor in_compute_dtype(const Tensor& x) {
  const std::optional<DType> compute = ops::PrecisionScope::current();
  return compute && is_floating(x.dtype()) && x.dtype() != DType::f64 ? ops::cast(x, *compute) : x;
}

Tensor joined(const Tensor& x, std::initializer_list<const Dense*> layers) {
  std::vector<Tensor> weights;
  std::vector<Tensor> biases;
  for (const Dense* layer : layers) {
    weights.push_back(layer->weight());
    if (layer->bias() != nullptr) biases.push_back(*layer->bias());
  }
  const DType stored = weights.front().dtype();
  const DType dtype =
      stored == DType::f64 ? stored : ops::PrecisionScope::current().value_or(stored);
  return ops::linear(x, ops::join_rows(weights, dtype),
                     biases.empty() ? Tensor() : ops::join_rows(biases, dtype));
}

}  // namespace plimsoll::nn
