// Attention of tokens among themselves, on queries, keys and values as one product gives them: no
// copy brings them into another order.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <plimsoll/ops/attention_chunks.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/ops/softmax.h>

#include "ops/sum_dtype.h"

namespace plimsoll::ops {
namespace {

std::vector<TensorType> self_attention_types(const OpInputs& inputs) {
  inputs.require_rank(0, 3);
  const Shape& qkv = inputs.shape(0);
  const std::int64_t heads = inputs.attributes().integer("heads");
  if (heads < 1 || qkv[2] % (3 * heads) != 0) {
    inputs.fail(
        fmt::format("{} features are not queries, keys and values of {} heads", qkv[2], heads));
  }
  const DType sums = sum_dtype(inputs.dtype(0));
  return {{inputs.dtype(0), qkv.with_dim(-1, qkv[2] / 3)}, {sums, Shape{qkv[0], heads, qkv[1]}}};
}

std::vector<TensorType> self_attention_grad_types(const OpInputs& inputs) {
  const std::vector<TensorType> outputs = self_attention_types(inputs);
  if (inputs[1] != outputs[0] || inputs[2] != outputs[1] || inputs[3] != outputs[0] ||
      (inputs.count() > 4 && inputs[4] != outputs[1])) {
    inputs.fail("the result and its gradient must be self_attention's");
  }
  return {inputs[0]};
}

/// `products` of queries with keys, or of weights with values; half of each when causal.
Cost cost_of_products(const OpInputs& inputs, std::span<const TensorType> outputs,
                      double products) {
  const AttentionShape s = self_attention_shape(inputs);
  Cost cost;
  cost.flops = products * 2.0 * static_cast<double>(s.units()) * static_cast<double>(s.queries) *
               static_cast<double>(s.keys) * static_cast<double>(s.size) * (s.causal ? 0.5 : 1.0);
  for (const TensorType& type : inputs.types()) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

void self_attention_gradient(GradientContext& g);

const OpDef kSelfAttention = {
    .name = "self_attention",
    .family = "attention",
    .summary = "attention within qkv [n,tokens,3*heads*size], and each query's log-sum-exp",
    .inputs = 1,
    .types = self_attention_types,
    .gradient = self_attention_gradient,
    .kept = [](std::uint32_t) { return Kept{.inputs = 1, .outputs = 3}; },
    .cost = [](const OpInputs& in,
               std::span<const TensorType> out) { return cost_of_products(in, out, 2); },
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return workspace_of_attention(self_attention_shape(in), in.dtype(0), false);
        },
    .precision = Precision::compute,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType>) {
          return GpuWork{AttentionWork{self_attention_shape(in), false}};
        },
};

const OpDef kSelfAttentionGrad = {
    .name = "self_attention_grad",
    .family = "attention",
    .summary = "the gradient of self_attention; scores are computed again",
    .inputs = 4,
    .optional_inputs = 1,
    .types = self_attention_grad_types,
    .cost = [](const OpInputs& in,
               std::span<const TensorType> out) { return cost_of_products(in, out, 5); },
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return workspace_of_attention(self_attention_shape(in), in.dtype(0), true);
        },
    .precision = Precision::keep,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType>) {
          return GpuWork{AttentionWork{self_attention_shape(in), true}};
        },
};

void self_attention_gradient(GradientContext& g) {
  std::array<Tensor, 5> inputs = {g.input(0), g.output(0), g.output(1), g.grad(0), Tensor()};
  if (g.has_grad(1)) inputs[4] = g.grad(1);
  g.set(0, call(kSelfAttentionGrad, inputs, g.attributes()).front());
}

constexpr std::array kSelfAttentionOps = {&kSelfAttention, &kSelfAttentionGrad};

const RegisterOps kSelfAttentionRegistered(kSelfAttentionOps);

}  // namespace

Tensor self_attention(const Tensor& qkv, const SelfAttentionOptions& options) {
  double scale = options.scale;
  if (scale == 0 && qkv.defined() && qkv.rank() > 0 && options.heads > 0) {
    const std::int64_t size = qkv.dim(-1) / (3 * options.heads);
    scale = 1 / std::sqrt(std::max(1.0, static_cast<double>(size)));
  }
  Attributes attributes = {{"heads", options.heads}, {"causal", options.causal}, {"scale", scale}};
  if (options.tf32) attributes.set("tf32", true);
  return call_one(kSelfAttention, {qkv}, attributes);
}

}  // namespace plimsoll::ops
