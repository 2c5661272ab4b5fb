// layer_norm and rms_norm: over the last dimension. The gradients read x and scale, and find each
// row's statistics again while the row is in the cache: nothing else is kept.
#include "ops/normalize.h"
#include "ops/in_place.h"

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/normalize.h>

namespace plimsoll::ops {

DType statistics_dtype(DType dtype) { return std::min(dtype, DType::f32); }

void require_parameters(const OpInputs& inputs, int i, int last, std::int64_t count) {
  const DType dtype = inputs.dtype(i);
  if (dtype != inputs.dtype(0) && dtype != statistics_dtype(inputs.dtype(0))) {
    const DType wide = statistics_dtype(inputs.dtype(0));
    inputs.fail(wide == inputs.dtype(0)
                    ? fmt::format("input {} must be {}", i, dtype_name(wide))
                    : fmt::format("input {} must be {} or {}", i, dtype_name(inputs.dtype(0)),
                                  dtype_name(wide)));
  }
  const TensorType expected{dtype, Shape{count}};
  for (int at = i; at <= last && at < inputs.count(); ++at) {
    if (inputs[at] != expected) {
      inputs.fail(fmt::format("input {} must be {}", at, expected.to_string()));
    }
  }
}

Cost normalize_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost{.flops = 8.0 * static_cast<double>(inputs[0].elements())};
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

namespace {

std::int64_t features_of(const OpInputs& inputs) {
  if (inputs.shape(0).rank() == 0) inputs.fail("needs a dimension to normalise over");
  return inputs.shape(0).dim(-1);
}

std::vector<TensorType> norm_types(const OpInputs& inputs) {
  require_parameters(inputs, 1, 2, features_of(inputs));
  return {inputs[0]};
}

/// From dy, x, scale: the gradients of x, scale and, where there is one, bias.
std::vector<TensorType> normalize_grad_types(const OpInputs& inputs) {
  if (inputs[0] != inputs[1]) inputs.fail("dy and x differ in type");
  require_parameters(inputs, 2, 2, features_of(inputs));
  std::vector<TensorType> types = {inputs[0], inputs[2]};
  if (inputs.attributes().flag("bias")) types.push_back(inputs[2]);
  return types;
}

void norm_gradient(GradientContext& g, const OpDef& grad) {
  const bool bias = g.input_count() > 2;
  const std::array<Tensor, 3> inputs = {g.grad(), g.input(0), g.input(1)};
  const auto parts =
      call(grad, inputs, {{"epsilon", g.attributes().number("epsilon")}, {"bias", bias}});
  for (std::size_t i = 0; i < parts.size(); ++i) g.set(static_cast<int>(i), parts[i]);
}

Kept keeps_x_and_scale(std::uint32_t) { return {.inputs = 3}; }

const OpDef kLayerNormGrad = {
    .name = "layer_norm_grad",
    .family = "normalize",
    .summary = "the gradients of layer_norm by x, scale and bias",
    .inputs = 3,
    .types = normalize_grad_types,
    .cost = normalize_cost,
    .in_place = kOverEither,
    .precision = Precision::keep,
};

const OpDef kLayerNorm = {
    .name = "layer_norm",
    .family = "normalize",
    .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the last dimension",
    .inputs = 2,
    .optional_inputs = 1,
    .types = norm_types,
    .gradient = [](GradientContext& g) { norm_gradient(g, kLayerNormGrad); },
    .kept = keeps_x_and_scale,
    .cost = normalize_cost,
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
};

const OpDef kRmsNormGrad = {
    .name = "rms_norm_grad",
    .family = "normalize",
    .summary = "the gradients of rms_norm by x and scale",
    .inputs = 3,
    .types = normalize_grad_types,
    .cost = normalize_cost,
    .in_place = kOverEither,
    .precision = Precision::keep,
};

const OpDef kRmsNorm = {
    .name = "rms_norm",
    .family = "normalize",
    .summary = "x / sqrt(mean(x²) + epsilon) * scale over the last dimension",
    .inputs = 2,
    .types = norm_types,
    .gradient = [](GradientContext& g) { norm_gradient(g, kRmsNormGrad); },
    .kept = keeps_x_and_scale,
    .cost = normalize_cost,
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
};

constexpr std::array kNormalizeOps = {&kLayerNorm, &kLayerNormGrad, &kRmsNorm, &kRmsNormGrad};

const RegisterOps kNormalizeRegistered(kNormalizeOps);

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon) {
  return call_one(kLayerNorm, {x, scale, bias}, {{"epsilon", epsilon}});
}

Tensor rms_norm(const Tensor& x, const Tensor& scale, double epsilon) {
  return call_one(kRmsNorm, {x, scale}, {{"epsilon", epsilon}});
}

}  // namespace plimsoll::ops
