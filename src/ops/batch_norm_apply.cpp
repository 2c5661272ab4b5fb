// Batch normalisation in the steps that a GPU takes: statistics, then their application together
// with the sum and the relu behind it; and gradients together with those of that relu. Graphs are
// rewritten with these (graph/fused_norms.h); they give the bits of the ops that they stand for.
#include "ops/batch_norm.h"

#include <array>

#include "ops/in_place.h"
#include "ops/normalize.h"

namespace plimsoll::ops {
namespace {

double bytes_in_all(std::span<const TensorType> types) {
  double bytes = 0;
  for (const TensorType& type : types) bytes += static_cast<double>(type.bytes());
  return bytes;
}

const OpDef kBatchNormStatistics = {
    .name = "batch_norm_statistics",
    .family = "normalize",
    .summary = "the mean and the variance of x per channel",
    .types =
        [](const OpInputs& inputs) {
          const TensorType statistics = statistics_type(inputs);
          return std::vector<TensorType>{statistics, statistics};
        },
    .cost = normalize_cost,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 1},
    .batch_statistics = true,
};

constexpr std::array<InPlace, 2> kOverXOrResidual = {{{0, 0}, {0, 5}}};

const OpDef kBatchNormApply = {
    .name = "batch_norm_apply",
    .family = "normalize",
    .summary =
        "x normalised by given statistics, plus another tensor if there is one, then relu "
        "if asked for",
    .inputs = 5,
    .optional_inputs = 1,
    .types =
        [](const OpInputs& inputs) {
          require_parameters(inputs, 1, 2, channels_of(inputs));
          require_statistics(inputs, 3);
          if (inputs.count() > 5 && inputs[5] != inputs[0]) {
            inputs.fail("x and what is added differ in type");
          }
          return std::vector<TensorType>{inputs[0]};
        },
    .cost = normalize_cost,
    .in_place = kOverXOrResidual,
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 33, .outputs = 1},
};

/// dx, dscale and dbias for dy, x, scale, another, mean, variance and perhaps more dy.
std::vector<TensorType> batch_norm_step_grad_types(const OpInputs& inputs) {
  if (inputs[0] != inputs[1]) inputs.fail("dy and x differ in type");
  if (inputs.count() > 6 && inputs[6] != inputs[0]) inputs.fail("the parts of dy differ in type");
  require_parameters(inputs, 2, 2, channels_of(inputs));
  require_statistics(inputs, 4);
  return {inputs[0], inputs[2], inputs[2]};
}

constexpr std::array<InPlace, 2> kOverGradients = {{{0, 0}, {0, 6}}};

const OpDef kBatchNormReluGrad = {
    .name = "batch_norm_relu_grad",
    .family = "normalize",
    .summary = "the gradients of relu(batch_norm) by x, scale and bias, without relu's result",
    .inputs = 6,
    .optional_inputs = 1,
    .types =
        [](const OpInputs& inputs) {
          std::vector<TensorType> types = batch_norm_step_grad_types(inputs);
          require_parameters(inputs, 3, 3, channels_of(inputs));
          return types;
        },
    // Everything is read for the sums, then once more for dx.
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          return Cost{.flops = 16.0 * static_cast<double>(inputs[0].elements()),
                      .bytes = 2 * bytes_in_all(inputs.types()) + bytes_in_all(outputs)};
        },
    .in_place = kOverGradients,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 67, .outputs = 1},
};

constexpr std::array<InPlace, 4> kOverWhatIsRead = {{{3, 0}, {3, 6}, {3, 3}, {0, 1}}};

const OpDef kBatchNormAddReluGrad = {
    .name = "batch_norm_add_relu_grad",
    .family = "normalize",
    .summary = "the gradients of relu(batch_norm + another) by x, scale, bias and the other",
    .inputs = 6,
    .optional_inputs = 1,
    .types =
        [](const OpInputs& inputs) {
          std::vector<TensorType> types = batch_norm_step_grad_types(inputs);
          if (inputs[3] != inputs[0]) inputs.fail("dy and relu's result differ in type");
          types.push_back(inputs[0]);
          return types;
        },
    // relu's gradient and x are read once more for dx.
    .cost =
        [](const OpInputs& inputs, std::span<const TensorType> outputs) {
          return Cost{.flops = 16.0 * static_cast<double>(inputs[0].elements()),
                      .bytes = bytes_in_all(inputs.types()) + bytes_in_all(outputs) +
                               2.0 * static_cast<double>(inputs[0].bytes())};
        },
    .in_place = kOverWhatIsRead,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 75, .outputs = 9},
};

constexpr std::array kBatchNormStepOps = {&kBatchNormStatistics, &kBatchNormApply,
                                          &kBatchNormReluGrad, &kBatchNormAddReluGrad};

const RegisterOps kBatchNormStepsRegistered(kBatchNormStepOps);

}  // namespace
}  // namespace plimsoll::ops
