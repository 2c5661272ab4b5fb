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

std::vector<TensorType> self_forward_types(const OpInputs& inputs) {
  inputs.require_rank(0, 3);
  const Shape& qkv = inputs.shape(0);
  const std::int64_t heads = inputs.attributes().integer("heads");
  const std::int64_t key_heads = self_attention_key_heads(inputs.attributes());
  if (heads > 0 && (key_heads < 1 || heads % key_heads != 0)) {
    inputs.fail(fmt::format("{} heads of keys must divide {} of queries", key_heads, heads));
  }
  const std::int64_t all = heads + 2 * key_heads;
  if (heads < 1 || qkv[2] % all != 0) {
    inputs.fail(fmt::format("{} features are not queries, keys and values of {} heads{}", qkv[2],
                            heads,
                            key_heads == heads ? "" : fmt::format(", {} of keys", key_heads)));
  }
  const DType sums = sum_dtype(inputs.dtype(0));
  return {{inputs.dtype(0), qkv.with_dim(-1, qkv[2] / all * heads)},
          {sums, Shape{qkv[0], heads, qkv[1]}}};
}

/// Fails unless input `i` is a mask of keys.
void check_token_mask(const OpInputs& inputs, int i) {
  const TensorType mask = {DType::boolean, inputs.shape(0).with_removed(2)};
  if (inputs[i] != mask) {
    inputs.fail(fmt::format("the mask of keys must be {}", mask.to_string()));
  }
}

std::vector<TensorType> self_attention_types(const OpInputs& inputs) {
  std::vector<TensorType> outputs = self_forward_types(inputs);
  if (inputs.count() > 1) check_token_mask(inputs, 1);
  return outputs;
}

/// Of qkv, the results, dy, and of a mask and the gradient by the sums what there is.
std::vector<TensorType> self_attention_grad_types(const OpInputs& inputs) {
  const std::vector<TensorType> outputs = self_forward_types(inputs);
  const bool masked = inputs.count() > 4 && inputs.dtype(4) == DType::boolean;
  if (masked) check_token_mask(inputs, 4);
  const int sums = masked ? 5 : 4;
  if (inputs[1] != outputs[0] || inputs[2] != outputs[1] || inputs[3] != outputs[0] ||
      inputs.count() > sums + 1 || (inputs.count() > sums && inputs[sums] != outputs[1])) {
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
    .summary =
        "attention within qkv [n,tokens,(heads+2*key_heads)*size], and each query's "
        "log-sum-exp",
    .inputs = 1,
    .optional_inputs = 1,
    .types = self_attention_types,
    .gradient = self_attention_gradient,
    .kept = [](std::uint32_t) { return Kept{.inputs = 3, .outputs = 3}; },
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
    .optional_inputs = 2,
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
  std::vector<Tensor> inputs = {g.input(0), g.output(0), g.output(1), g.grad(0)};
  if (g.input_count() > 1) inputs.push_back(g.input(1));
  if (g.has_grad(1)) inputs.push_back(g.grad(1));
  g.set(0, call(kSelfAttentionGrad, inputs, g.attributes()).front());
}

constexpr std::array kSelfAttentionOps = {&kSelfAttention, &kSelfAttentionGrad};

const RegisterOps kSelfAttentionRegistered(kSelfAttentionOps);

}  // namespace

Tensor self_attention(const Tensor& qkv, const SelfAttentionOptions& options) {
  double scale = options.scale;
  const std::int64_t key_heads = options.key_heads == 0 ? options.heads : options.key_heads;
  if (scale == 0 && qkv.defined() && qkv.rank() > 0 && options.heads > 0 && key_heads > 0) {
    const std::int64_t size = qkv.dim(-1) / (options.heads + 2 * key_heads);
    scale = 1 / std::sqrt(std::max(1.0, static_cast<double>(size)));
  }
  Attributes attributes = {{"heads", options.heads}, {"causal", options.causal}, {"scale", scale}};
  if (options.tf32) attributes.set("tf32", true);
  if (key_heads != options.heads) attributes.set("key_heads", key_heads);
  return call_one(kSelfAttention, {qkv, options.key_mask}, attributes);
}

}  // namespace plimsoll::ops
