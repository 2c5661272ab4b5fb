// Group normalisation: each picture by itself, over the channels of a group and all pixels.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/group_norm_parts.h>
#include <plimsoll/ops/normalize.h>

#include "ops/in_place.h"
#include "ops/normalize.h"

namespace plimsoll::ops {
namespace {

std::int64_t grouped_channels(const OpInputs& inputs) {
  inputs.require_rank(0, 4);
  const std::int64_t channels = inputs.shape(0)[inputs.attributes().flag("channels_last") ? 3 : 1];
  const std::int64_t groups = inputs.attributes().integer("groups");
  if (groups < 1 || channels % groups != 0) {
    inputs.fail(fmt::format("{} groups do not divide {} channels", groups, channels));
  }
  return channels;
}

/// Of the mean and the variance of each group of each picture.
TensorType group_statistics_type(const OpInputs& inputs) {
  return {statistics_dtype(inputs.dtype(0)),
          Shape{inputs.shape(0)[0], inputs.attributes().integer("groups")}};
}

Cost group_norm_cost(const OpInputs& inputs, std::span<const TensorType> outputs, int read_twice) {
  Cost cost = normalize_cost(inputs, outputs);
  cost.bytes += read_twice * static_cast<double>(inputs[0].bytes());
  return cost;
}

Bytes group_norm_workspace(const OpInputs& inputs) {
  const std::int64_t numbers = group_norm_numbers(inputs.shape(0)[0], grouped_channels(inputs),
                                                  group_statistics_type(inputs).shape[1]);
  return static_cast<Bytes>(numbers) * dtype_size(statistics_dtype(inputs.dtype(0)));
}

const OpDef kGroupNormGrad = {
    .name = "group_norm_grad",
    .family = "normalize",
    .summary = "the gradients of group_norm by x, scale and bias",
    .inputs = 5,
    .types =
        [](const OpInputs& inputs) {
          if (inputs[0] != inputs[1]) inputs.fail("dy and x differ in type");
          require_parameters(inputs, 2, 2, grouped_channels(inputs));
          const TensorType statistics = group_statistics_type(inputs);
          if (inputs[3] != statistics || inputs[4] != statistics) {
            inputs.fail(fmt::format("inputs 3 and 4 must be {}", statistics.to_string()));
          }
          return std::vector<TensorType>{inputs[0], inputs[2], inputs[2]};
        },
    .cost = [](const OpInputs& in,
               std::span<const TensorType> out) { return group_norm_cost(in, out, 2); },
    .workspace = [](const OpInputs& in,
                    std::span<const TensorType>) { return group_norm_workspace(in); },
    .in_place = kOverEither,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 3, .outputs = 1},
};

const OpDef kGroupNorm = {
    .name = "group_norm",
    .family = "normalize",
    .summary = "x normalised per picture and group of channels; the groups' mean and variance",
    .inputs = 3,
    .types =
        [](const OpInputs& inputs) {
          require_parameters(inputs, 1, 2, grouped_channels(inputs));
          const TensorType statistics = group_statistics_type(inputs);
          return std::vector<TensorType>{inputs[0], statistics, statistics};
        },
    .gradient =
        [](GradientContext& g) {
          const std::array<Tensor, 5> inputs = {g.grad(), g.input(0), g.input(1), g.output(1),
                                                g.output(2)};
          const auto parts = call(kGroupNormGrad, inputs, g.attributes());
          for (std::size_t i = 0; i < parts.size(); ++i) g.set(static_cast<int>(i), parts[i]);
        },
    .kept = [](std::uint32_t) { return Kept{.inputs = 3, .outputs = 6}; },
    .cost = [](const OpInputs& in,
               std::span<const TensorType> out) { return group_norm_cost(in, out, 1); },
    .workspace = [](const OpInputs& in,
                    std::span<const TensorType>) { return group_norm_workspace(in); },
    .in_place = kOverFirst,
    .cheap = true,
    .precision = Precision::keep,
    .channels = {.rule = ChannelRule::normalize, .inputs = 1, .outputs = 1},
};

constexpr std::array kGroupNormOps = {&kGroupNorm, &kGroupNormGrad};

const RegisterOps kGroupNormRegistered(kGroupNormOps);

}  // namespace

Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t groups,
                  double epsilon, Layout layout) {
  const std::array<Tensor, 3> inputs = {x, scale, bias};
  auto parts = call(kGroupNorm, inputs,
                    {{"groups", groups},
                     {"epsilon", epsilon},
                     {"channels_last", layout == Layout::channels_last}});
  return std::move(parts[0]);
}

}  // namespace plimsoll::ops
