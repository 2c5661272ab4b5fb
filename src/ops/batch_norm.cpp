// Batch normalisation, with the batch's statistics or with given ones.
#include "ops/batch_norm.h"

#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/shape_ops.h>

#include "ops/in_place.h"
#include "ops/normalize.h"

namespace plimsoll::ops {
namespace {

int channel_axis(const Shape& shape, const Attributes& attributes) {
  return attributes.flag("channels_last") ? shape.rank() - 1 : 1;
}

/// From dy, x, scale, mean, variance: the gradients of x, scale and bias.
std::vector<TensorType> batch_norm_grad_types(const OpInputs& inputs) {
  if (inputs[0] != inputs[1]) inputs.fail("dy and x differ in type");
  require_parameters(inputs, 2, 2, channels_of(inputs));
  require_statistics(inputs, 3);
  return {inputs[0], inputs[2], inputs[2]};
}

/// x and, for gradients, dy are read for the sums, then once more for the result.
template <int Pictures>
Cost twice_read_cost(const OpInputs& inputs, std::span<const TensorType> outputs) {
  Cost cost = normalize_cost(inputs, outputs);
  cost.bytes += Pictures * static_cast<double>(inputs[0].bytes());
  return cost;
}

/// What comes through the statistics themselves, where somebody uses them for more than running
/// means.
Tensor through_statistics(GradientContext& g, const Tensor& dx) {
  const TensorType& x = g.input_type(0);
  const Shape& channels = g.output_type(1).shape;
  const int axis = channel_axis(x.shape, g.attributes());
  Shape aligned;
  for (int i = 0; i < x.shape.rank(); ++i) {
    aligned = aligned.with_inserted(i, i == axis ? channels[0] : 1);
  }
  const double share = static_cast<double>(channels[0]) / static_cast<double>(x.elements());
  const DType wide = g.output_type(1).dtype;
  const Tensor off = sub(cast(g.input(0), wide), reshape(g.output(1), aligned));
  const Tensor by_variance = mul(off, reshape(scale(g.grad(2), 2 * share), aligned));
  const Tensor both = add(by_variance, reshape(scale(g.grad(1), share), aligned));
  return add(dx, cast(both, x.dtype));
}

const OpDef kBatchNormGrad = {
    .name = "batch_norm_grad",
    .family = "normalize",
    .summary = "the gradients of batch_norm by x, scale and bias",
    .inputs = 5,
    .types = batch_norm_grad_types,
    .cost = twice_read_cost<2>,
    .in_place = kOverEither,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 3, .outputs = 1},
};

const OpDef kBatchNorm = {
    .name = "batch_norm",
    .family = "normalize",
    .summary = "x normalised per channel by the batch; its mean and variance",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          require_parameters(inputs, 1, 2, channels_of(inputs));
          const TensorType statistics = statistics_type(inputs);
          return std::vector<TensorType>{inputs[0], statistics, statistics};
        },
    .gradient =
        [](GradientContext& g) {
          const std::array<Tensor, 5> inputs = {g.grad(), g.input(0), g.input(1), g.output(1),
                                                g.output(2)};
          const auto parts = call(kBatchNormGrad, inputs, g.attributes());
          const bool more = g.needs(0) && (g.has_grad(1) || g.has_grad(2));
          g.set(0, more ? through_statistics(g, parts[0]) : parts[0]);
          g.set(1, parts[1]);
          g.set(2, parts[2]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 3, .outputs = 6}; },
    .cost = twice_read_cost<1>,
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 1, .outputs = 1},
    .batch_statistics = true,
};

const OpDef kBatchNormInferenceGrad = {
    .name = "batch_norm_inference_grad",
    .family = "normalize",
    .summary = "the gradients of batch_norm_inference by all its inputs",
    .inputs = 5,
    .types =
        [](const OpInputs& inputs) {
          auto types = batch_norm_grad_types(inputs);
          types.push_back(inputs[3]);
          types.push_back(inputs[3]);
          return types;
        },
    .cost = twice_read_cost<2>,
    .in_place = kOverEither,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 3, .outputs = 1},
};

const OpDef kBatchNormInference = {
    .name = "batch_norm_inference",
    .family = "normalize",
    .summary = "x normalised per channel by given statistics",
    .inputs = 5,
    .types =
        [](const OpInputs& inputs) {
          require_parameters(inputs, 1, 2, channels_of(inputs));
          require_statistics(inputs, 3);
          return std::vector<TensorType>{inputs[0]};
        },
    .gradient =
        [](GradientContext& g) {
          const std::array<Tensor, 5> inputs = {g.grad(), g.input(0), g.input(1), g.input(3),
                                                g.input(4)};
          const auto parts = call(kBatchNormInferenceGrad, inputs, g.attributes());
          for (std::size_t i = 0; i < parts.size(); ++i) g.set(static_cast<int>(i), parts[i]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 1U | 2U | 8U | 16U}; },
    .cost = normalize_cost,
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 1, .outputs = 1},
};

constexpr std::array kBatchNormOps = {&kBatchNorm, &kBatchNormGrad, &kBatchNormInference,
                                      &kBatchNormInferenceGrad};

Attributes norm_attributes(const Tensor& x, double epsilon, Layout layout) {
  return {{"epsilon", epsilon},
          {"channels_last", x.rank() == 2 || layout == Layout::channels_last}};
}

const RegisterOps kBatchNormRegistered(kBatchNormOps);

}  // namespace

std::int64_t channels_of(const OpInputs& inputs) {
  const Shape& shape = inputs.shape(0);
  if (shape.rank() != 2 && shape.rank() != 4) inputs.fail("x must have 2 or 4 dimensions");
  return shape[channel_axis(shape, inputs.attributes())];
}

TensorType statistics_type(const OpInputs& inputs) {
  return {statistics_dtype(inputs.dtype(0)), Shape{channels_of(inputs)}};
}

void require_statistics(const OpInputs& inputs, int i) {
  const TensorType expected = statistics_type(inputs);
  for (const int at : {i, i + 1}) {
    if (inputs[at] != expected) {
      inputs.fail(fmt::format("input {} must be {}", at, expected.to_string()));
    }
  }
}

BatchNormResult batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon,
                           Layout layout) {
  const std::array<Tensor, 3> inputs = {x, scale, bias};
  auto parts = call(kBatchNorm, inputs, norm_attributes(x, epsilon, layout));
  return {std::move(parts[0]), std::move(parts[1]), std::move(parts[2])};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& scale, const Tensor& bias,
                            const Tensor& mean, const Tensor& variance, double epsilon,
                            Layout layout) {
  return call_one(kBatchNormInference, {x, scale, bias, mean, variance},
                  norm_attributes(x, epsilon, layout));
}

}  // namespace plimsoll::ops
