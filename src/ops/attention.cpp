// softmax(q kᵀ · scale) v without the whole matrix of scores.
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

void check_inputs(const OpInputs& inputs) {
  const Shape& q = inputs.shape(0);
  const Shape& k = inputs.shape(1);
  const Shape& v = inputs.shape(2);
  for (int i = 1; i < 3; ++i) {
    if (inputs.dtype(i) != inputs.dtype(0)) inputs.fail("q, k and v need one dtype; cast them");
    if (inputs.shape(i).rank() != q.rank()) inputs.fail("q, k and v need the same dimensions");
  }
  if (q.rank() < 2) inputs.fail("q, k and v need at least two dimensions: [...,tokens,size]");
  for (int i = 0; i < q.rank() - 2; ++i) {
    const bool divides = i == q.rank() - 3 && k[i] > 0 && q[i] % k[i] == 0;
    if (v[i] != k[i] || (k[i] != q[i] && !divides)) {
      inputs.fail(fmt::format("dimension {} differs between q, k and v; it may not broadcast", i));
    }
  }
  if (k.dim(-1) != q.dim(-1)) inputs.fail("q and k have different sizes in the last dimension");
  if (k.dim(-2) != v.dim(-2)) inputs.fail("k and v have different numbers of keys");
}

/// Fails unless input `i` is a mask of keys.
void check_mask(const OpInputs& inputs, int i) {
  const Shape& k = inputs.shape(1);
  Shape shape{k.dim(-2)};
  for (int d = 0; d < k.rank() - 3; ++d) shape = shape.with_inserted(d, k[d]);
  if (inputs[i] == TensorType{DType::boolean, shape}) return;
  inputs.fail(
      fmt::format("the mask of keys must be {}", TensorType{DType::boolean, shape}.to_string()));
}

/// For each query the logarithm of the sum of its exponents.
TensorType rows_type(const OpInputs& inputs) {
  const Shape& q = inputs.shape(0);
  return {sum_dtype(inputs.dtype(0)), q.with_removed(q.rank() - 1)};
}

std::vector<TensorType> forward_types(const OpInputs& inputs) {
  const std::int64_t size = inputs.shape(2).dim(-1);
  return {{inputs.dtype(0), inputs.shape(0).with_dim(-1, size)}, rows_type(inputs)};
}

std::vector<TensorType> attention_types(const OpInputs& inputs) {
  check_inputs(inputs);
  if (inputs.count() > 3) check_mask(inputs, 3);
  return forward_types(inputs);
}

/// Of q, k, v, the results, dy, and of a mask and the gradient by the sums what there is.
std::vector<TensorType> attention_grad_types(const OpInputs& inputs) {
  check_inputs(inputs);
  const std::vector<TensorType> outputs = forward_types(inputs);
  const bool masked = inputs.count() > 6 && inputs.dtype(6) == DType::boolean;
  if (masked) check_mask(inputs, 6);
  const int sums = masked ? 7 : 6;
  if (inputs[3] != outputs[0] || inputs[4] != outputs[1] || inputs[5] != outputs[0] ||
      inputs.count() > sums + 1 || (inputs.count() > sums && inputs[sums] != outputs[1])) {
    inputs.fail("the result and its gradient must be attention's");
  }
  return {inputs[0], inputs[1], inputs[2]};
}

/// Flops of one product of queries and keys with `size` elements; half of them when causal.
double product_flops(const OpInputs& inputs, std::int64_t size) {
  const Shape& k = inputs.shape(1);
  const auto queries = static_cast<double>(inputs[0].elements()) /
                       std::max<double>(1, static_cast<double>(k.dim(-1)));
  const double pairs = queries * static_cast<double>(k.dim(-2));
  return 2 * pairs * static_cast<double>(size) * (inputs.attributes().flag("causal") ? 0.5 : 1.0);
}

double bytes_moved(const OpInputs& inputs, std::span<const TensorType> outputs) {
  double bytes = 0;
  for (const TensorType& type : inputs.types()) bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) bytes += static_cast<double>(type.bytes());
  return bytes;
}

void attention_gradient(GradientContext& g);

const OpDef kAttention = {
    .name = "attention",
    .family = "attention",
    .summary = "softmax(q kT scale) v, and the log-sum-exp of each query's scores",
    .inputs = 3,
    .optional_inputs = 1,
    .types = attention_types,
    .gradient = attention_gradient,
    .kept = [](std::uint32_t) { return Kept{.inputs = 15, .outputs = 3}; },
    .cost =
        [](const OpInputs& in, std::span<const TensorType> out) {
          return Cost{product_flops(in, in.shape(1).dim(-1) + in.shape(2).dim(-1)),
                      bytes_moved(in, out)};
        },
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return workspace_of_attention(with_heads_apart(attention_shape(in)), in.dtype(0), false);
        },
    .precision = Precision::compute,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType>) {
          return GpuWork{AttentionWork{attention_shape(in), false}};
        },
};

const OpDef kAttentionGrad = {
    .name = "attention_grad",
    .family = "attention",
    .summary = "the gradients of attention by q, k and v; scores are computed again",
    .inputs = 6,
    .optional_inputs = 2,
    .types = attention_grad_types,
    .cost =
        [](const OpInputs& in, std::span<const TensorType> out) {
          // Scores again, then the gradients of q and k; those of the weights and of v.
          return Cost{product_flops(in, 3 * in.shape(1).dim(-1) + 2 * in.shape(2).dim(-1)),
                      bytes_moved(in, out)};
        },
    .workspace =
        [](const OpInputs& in, std::span<const TensorType>) {
          return workspace_of_attention(with_heads_apart(attention_shape(in)), in.dtype(0), true);
        },
    .precision = Precision::keep,
    .gpu_work =
        [](const OpInputs& in, std::span<const TensorType>) {
          return GpuWork{AttentionWork{attention_shape(in), true}};
        },
};

void attention_gradient(GradientContext& g) {
  std::vector<Tensor> inputs = {g.input(0),  g.input(1),  g.input(2),
                                g.output(0), g.output(1), g.grad(0)};
  if (g.input_count() > 3) inputs.push_back(g.input(3));
  if (g.has_grad(1)) inputs.push_back(g.grad(1));
  const std::vector<Tensor> gradients = call(kAttentionGrad, inputs, g.attributes());
  for (int i = 0; i < 3; ++i) g.set(i, gradients[static_cast<std::size_t>(i)]);
}

constexpr std::array kAttentionOps = {&kAttention, &kAttentionGrad};

const RegisterOps kAttentionRegistered(kAttentionOps);

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  double scale = options.scale;
  if (scale == 0 && q.defined() && q.rank() > 0) {
    scale = 1 / std::sqrt(std::max(1.0, static_cast<double>(q.dim(-1))));
  }
  Attributes attributes = {{"causal", options.causal}, {"scale", scale}};
  if (options.tf32) attributes.set("tf32", true);
  return call_one(kAttention, {q, k, v, options.key_mask}, attributes);
}

}  // namespace plimsoll::ops
