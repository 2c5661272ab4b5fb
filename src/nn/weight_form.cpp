#include <plimsoll/nn/weight_form.h>

#include <cmath>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/update.h>

namespace plimsoll::nn {
namespace {

/// The root of the mean square of what `init` gives.
double deviation(const Init& init) {
  switch (init.kind) {
    case Init::Kind::uniform:
      return init.scale / std::sqrt(3.0);
    case Init::Kind::truncated_normal:
      return init.scale * 0.8796;  // of a normal distribution cut at two deviations
    default:
      return std::fabs(init.scale);
  }
}

std::string_view name_of(WeightForm form) {
  switch (form) {
    case WeightForm::weight_norm:
      return "weight_v";
    case WeightForm::spectral_norm:
      return "weight_orig";
    case WeightForm::plain:
      break;
  }
  return "weight";
}

/// A row of length 1; shorter ones than epsilon stay short.
Tensor unit(const Tensor& x, double epsilon) {
  const Tensor length = ops::sqrt(ops::sum(ops::square(x)));
  return ops::div(x, ops::maximum(length, ops::full_like_type(x, {x.dtype(), {}}, epsilon)));
}

}  // namespace

Tensor weight_norm(const Tensor& v, const Tensor& g) {
  Shape lengths = v.shape();
  std::vector<std::int64_t> rest;
  for (int i = 1; i < v.rank(); ++i) {
    lengths = lengths.with_dim(i, 1);
    rest.push_back(i);
  }
  if (v.rank() < 2 || g.shape() != lengths) {
    throw InvalidArgument(
        fmt::format("[weight_norm] the directions are {} and the lengths {}; "
                    "lengths need the shape {}",
                    v.type().to_string(), g.type().to_string(), lengths.to_string()));
  }
  // Wide: the gradient by a direction is what is left of two terms that nearly cancel.
  const DType wide = v.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor direction = ops::cast(v, wide);
  const Tensor norm =
      ops::sqrt(ops::sum(ops::square(direction), {.axes = rest, .keep_dims = true}));
  return ops::cast(ops::mul(direction, ops::div(ops::cast(g, wide), norm)), v.dtype());
}

SpectralNormResult spectral_norm(const Tensor& weight, const Tensor& u, const Tensor& v,
                                 bool iterate, double epsilon) {
  const std::int64_t out = weight.dim(0);
  const std::int64_t in = out == 0 ? 0 : weight.elements() / out;
  if (u.shape() != Shape{out} || v.shape() != Shape{in}) {
    throw InvalidArgument(fmt::format(
        "[spectral_norm] of a weight {}, u is {} and v {}; they need "
        "the shapes [{}] and [{}]",
        weight.type().to_string(), u.type().to_string(), v.type().to_string(), out, in));
  }
  // A singular value is worth nothing in 16 bits.
  const ops::PrecisionScope full(DType::f32);
  const Tensor matrix = ops::reshape(weight, Shape{out, in});
  Tensor left = ops::reshape(u, Shape{1, out});
  Tensor right = ops::reshape(v, Shape{1, in});
  if (iterate) {
    const Tensor fixed = ops::stop_gradient(matrix);
    right = unit(ops::matmul(left, fixed), epsilon);
    left = unit(ops::matmul(right, fixed, {.transpose_b = true}), epsilon);
  }
  left = ops::stop_gradient(left);
  right = ops::stop_gradient(right);
  const Tensor sigma = ops::sum(ops::mul(left, ops::matmul(right, matrix, {.transpose_b = true})));
  return {ops::div(weight, sigma), ops::reshape(left, Shape{out}), ops::reshape(right, Shape{in})};
}

void WeightedModule::declare_weight(const Shape& shape, const Init& init, WeightForm form) const {
  const std::int64_t out = shape[0];
  const std::int64_t in = out == 0 ? 0 : shape.elements() / out;
  if (form == WeightForm::weight_norm) {
    Shape lengths = shape;
    for (int i = 1; i < shape.rank(); ++i) lengths = lengths.with_dim(i, 1);
    parameter("weight_g", lengths,
              Init::constant(deviation(init) * std::sqrt(static_cast<double>(in))));
  }
  parameter(name_of(form), shape, init);
  if (form == WeightForm::spectral_norm) {
    buffer("weight_u", {DType::f32, {out}},
           Init::normal(1 / std::sqrt(std::max<double>(1, static_cast<double>(out)))));
    buffer("weight_v", {DType::f32, {in}},
           Init::normal(1 / std::sqrt(std::max<double>(1, static_cast<double>(in)))));
  }
}

bool WeightedModule::has_weight(WeightForm form) const { return own(name_of(form)) != nullptr; }

const Parameter& WeightedModule::weight_parameter(WeightForm form, const char* who) const {
  const Parameter* weight = own(name_of(form));
  if (weight == nullptr) {
    throw InvalidArgument(
        fmt::format("[{}] {} has no weight yet: it is not known what comes in; call it, build() "
                    "it, or make it for inputs of a known extent",
                    who, name().empty() ? "it" : name()));
  }
  return *weight;
}

Tensor WeightedModule::weight_value(WeightForm form) const {
  if (form == WeightForm::plain) return *own("weight");
  if (form == WeightForm::weight_norm) return weight_norm(*own("weight_v"), *own("weight_g"));
  const SpectralNormResult result =
      spectral_norm(*own("weight_orig"), *own("weight_u"), *own("weight_v"), training());
  if (training()) {
    ops::assign(*own("weight_u"), result.u);
    ops::assign(*own("weight_v"), result.v);
  }
  return result.weight;
}

}  // namespace plimsoll::nn
