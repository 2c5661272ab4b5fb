#include <plimsoll/nn/multi_head_attention.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/attention_route.h>
#include <plimsoll/ops/dispatcher.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>
#include <plimsoll/ops/softmax.h>

#include "nn/joined.h"

namespace plimsoll::nn {
namespace {

/// Where a score does not count. Not infinite: a row of nothing else must not give NaN.
constexpr double kHidden = -1e30;

/// k or v with every head as often as needed for `heads`.
Tensor repeat_heads(const Tensor& x, std::int64_t heads) {
  const std::int64_t own = x.dim(1);
  if (own == heads) return x;
  const Tensor apart = ops::reshape(x, Shape{x.dim(0), own, 1, x.dim(2), x.dim(3)});
  const Shape repeated{x.dim(0), own, heads / own, x.dim(2), x.dim(3)};
  return ops::reshape(ops::broadcast_to(apart, repeated),
                      Shape{x.dim(0), heads, x.dim(2), x.dim(3)});
}

void check_parts(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[attention] q is {}, k {} and v {}; they need [n, heads, "
                    "tokens, size]",
                    q.type().to_string(), k.type().to_string(), v.type().to_string()));
  }
  if (k.dim(1) < 1 || q.dim(1) % k.dim(1) != 0 || v.dim(1) != k.dim(1)) {
    throw InvalidArgument(
        fmt::format("[attention] {} heads of q, {} of k and {} of v; those of k "
                    "and v must be as many, and divide those of q",
                    q.dim(1), k.dim(1), v.dim(1)));
  }
  if (options.window < 0) {
    throw InvalidArgument(
        fmt::format("[attention] the window is {}; it must be 0 or more", options.window));
  }
  if (options.key_mask.defined() &&
      options.key_mask.type() != TensorType{DType::boolean, {q.dim(0), k.dim(2)}}) {
    throw InvalidArgument(
        fmt::format("[attention] key_mask is {}; it must be bool [{},{}], one "
                    "for each key",
                    options.key_mask.type().to_string(), q.dim(0), k.dim(2)));
  }
}

/// i64 [queries, keys]: how many places each key comes before its query, of which the first is at
/// place `first` of the keys.
Tensor places_before(const Tensor& q, const Tensor& k, std::int64_t first) {
  const auto numbers = [&](const Tensor& x, const Shape& shape) {
    return ops::reshape(ops::arange(x.dim(2), DType::i64, q), shape);
  };
  const Tensor rows = numbers(q, Shape{q.dim(2), 1});
  return ops::sub(ops::shift(rows, static_cast<double>(first)), numbers(k, Shape{1, k.dim(2)}));
}

/// bool [queries, keys]: which keys a query may see by their places.
std::vector<Tensor> place_masks(const Tensor& q, const Tensor& k, const AttentionOptions& options,
                                std::int64_t first) {
  std::vector<Tensor> masks;
  if (!options.causal && options.window == 0) return masks;
  const Tensor before = places_before(q, k, first);
  const auto number = [&](std::int64_t value) {
    return ops::full_like_type(before, {DType::i64, {}}, static_cast<double>(value));
  };
  if (options.causal) masks.push_back(ops::greater_equal(before, number(0)));
  if (options.window == 0) return masks;
  masks.push_back(ops::less(before, number(options.window)));
  if (!options.causal) masks.push_back(ops::greater(before, number(-options.window)));
  return masks;
}

/// A bias in which -inf hides a key, as in PyTorch's masks of floats.
struct SafeBias {
  Tensor values;     ///< finite where the bias is -inf: a row of nothing else must not give NaN
  Tensor hides_all;  ///< bool, one for each row of the bias: whether all of it is -inf
};

SafeBias safe_bias(const Tensor& given, DType wide, std::int64_t keys) {
  if (!given.defined()) return {};
  Tensor bias = ops::cast(given, wide);
  if (keys == 0) return {bias, {}};
  if (bias.rank() == 0) bias = ops::reshape(bias, Shape{1});
  const auto number = [&](double value) { return ops::full_like_type(bias, {wide, {}}, value); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double lowest = wide == DType::f64 ? std::numeric_limits<double>::lowest()
                                           : std::numeric_limits<float>::lowest();
  const Tensor largest = ops::max(bias, {.axes = {-1}, .keep_dims = true});
  return {ops::maximum(bias, number(lowest)), ops::equal(largest, number(-kInfinity))};
}

/// The same with all scores there; the first query is at place `first` of the keys.
Tensor written_out(const Tensor& q, const Tensor& k, const Tensor& v,
                   const AttentionOptions& options, double scale, std::int64_t first) {
  Tensor scores = ops::matmul(q, k, {.transpose_b = true});
  const DType wide = scores.dtype() == DType::f64 ? DType::f64 : DType::f32;
  scores = ops::scale(ops::cast(scores, wide), scale);
  const SafeBias bias = safe_bias(options.bias, wide, k.dim(2));
  if (bias.values.defined()) scores = ops::add(scores, bias.values);
  std::vector<Tensor> masks;
  if (options.key_mask.defined()) {
    masks.push_back(ops::reshape(options.key_mask, Shape{q.dim(0), 1, 1, k.dim(2)}));
  }
  for (const Tensor& mask : place_masks(q, k, options, first)) masks.push_back(mask);
  const Tensor hidden = ops::full_like_type(scores, {wide, {}}, kHidden);
  for (const Tensor& mask : masks) scores = ops::where(mask, scores, hidden);
  Tensor probabilities = ops::softmax(scores);
  // Of a query that sees no key, all are alike until here.
  const Tensor zero = ops::full_like_type(scores, {wide, {}}, 0);
  for (const Tensor& mask : masks) probabilities = ops::where(mask, probabilities, zero);
  const Tensor y = ops::matmul(ops::cast(probabilities, v.dtype()), v);
  if (!bias.hides_all.defined()) return y;
  return ops::where(bias.hides_all, ops::full_like_type(y, {y.dtype(), {}}, 0), y);
}

/// How many queries a block of in_blocks() has; 0 where it is not worth it, or there is a bias.
std::int64_t block_of(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kMostBlocks = 32;
  if (options.window == 0 || options.bias.defined() || k.dim(2) == 0) return 0;
  const std::int64_t queries = q.dim(2);
  const std::int64_t block =
      std::max({options.window, kLeast, (queries + kMostBlocks - 1) / kMostBlocks});
  return queries > 2 * block ? block : 0;
}

/// The same with a window, for blocks of queries: each has only the scores of keys it may see.
Tensor in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 double scale, std::int64_t block) {
  const std::int64_t queries = q.dim(2);
  const std::int64_t keys = k.dim(2);
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < queries; at += block) {
    const std::int64_t end = std::min(at + block, queries);
    const std::int64_t place = at + keys - queries;
    const std::int64_t behind = end + keys - queries + (options.causal ? 0 : options.window - 1);
    // At least one key, even if it is hidden.
    const std::int64_t from = std::clamp<std::int64_t>(place - options.window + 1, 0, keys - 1);
    const std::int64_t to = std::clamp(behind, from + 1, keys);
    AttentionOptions own = options;
    if (own.key_mask.defined()) own.key_mask = ops::slice(own.key_mask, 1, from, to);
    parts.push_back(written_out(ops::slice(q, 2, at, end), ops::slice(k, 2, from, to),
                                ops::slice(v, 2, from, to), own, scale, place - from));
  }
  return ops::concat(parts, 2);
}

/// Whether attention with these options is ops::attention: a mask is one where a GPU has fast
/// kernels for it, forward and backward. Else scores are written out.
bool is_one_op(const Tensor& q, const ops::AttentionShape& shape, const AttentionOptions& options) {
  // The first query and the last key are the furthest apart.
  const bool hides = options.window != 0 && options.window < std::max(shape.queries, shape.keys);
  if (options.bias.defined() || hides) return false;
  if (!options.key_mask.defined()) return true;
  ops::AttentionShape masked = shape;
  masked.causal = options.causal;
  masked.mask_batches = 1;
  const DType dtype =
      q.dtype() == DType::f64 ? q.dtype() : ops::PrecisionScope::current().value_or(q.dtype());
  const auto fast = [&](bool grad) {
    return ops::attention_route(masked, dtype, grad) != ops::AttentionRoute::plain;
  };
  return fast(false) && fast(true);
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  check_parts(q, k, v, options);
  const std::int64_t heads = q.dim(1);
  const double scale =
      options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(q.dim(3)));
  const ops::AttentionShape shape{.batches = q.dim(0),
                                  .heads = heads,
                                  .group = heads / k.dim(1),
                                  .queries = q.dim(2),
                                  .keys = k.dim(2),
                                  .size = q.dim(3),
                                  .value_size = v.dim(3)};
  if (!is_one_op(q, shape, options)) {
    const Tensor keys = repeat_heads(k, heads);
    const Tensor values = repeat_heads(v, heads);
    const std::int64_t block = block_of(q, k, options);
    return block == 0 ? written_out(q, keys, values, options, scale, k.dim(2) - q.dim(2))
                      : in_blocks(q, keys, values, options, scale, block);
  }
  return ops::attention(q, k, v,
                        {.causal = options.causal, .scale = scale, .key_mask = options.key_mask});
}

Tensor attention_within(const Tensor& qkv, std::int64_t heads, std::int64_t key_heads,
                        const AttentionOptions& options) {
  if (qkv.rank() != 3) return ops::self_attention(qkv, {.heads = heads});  // which says so
  const std::int64_t size = qkv.dim(2) / (heads + 2 * key_heads);
  const ops::AttentionShape shape{.batches = qkv.dim(0),
                                  .heads = heads,
                                  .group = heads / key_heads,
                                  .queries = qkv.dim(1),
                                  .keys = qkv.dim(1),
                                  .size = size,
                                  .value_size = size};
  if (is_one_op(qkv, shape, options)) {
    return ops::self_attention(qkv, {.heads = heads,
                                     .causal = options.causal,
                                     .scale = options.scale,
                                     .key_heads = key_heads,
                                     .key_mask = options.key_mask});
  }
  const std::vector<Tensor> parts =
      ops::split(qkv, {heads * size, key_heads * size, key_heads * size}, 2);
  return merge_heads(attention(split_heads(parts[0], heads), split_heads(parts[1], key_heads),
                               split_heads(parts[2], key_heads), options));
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0) {
    throw InvalidArgument(
        fmt::format("[attention] {} heads of {}; they must divide the last of "
                    "[n, tokens, features]",
                    heads, x.type().to_string()));
  }
  return ops::transpose(ops::reshape(x, Shape{x.dim(0), x.dim(1), heads, x.dim(2) / heads}),
                        {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  return ops::reshape(ops::transpose(x, {0, 2, 1, 3}),
                      Shape{x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : options_(options),
      out_(add("out_proj",
               Dense(options.features, {.in = options.features,
                                        .bias = options.bias,
                                        .init = Init::fan_in_uniform(options.features)}))) {
  const std::int64_t features = options.features;
  if (options.heads < 1 || features < 1 || features % options.heads != 0) {
    throw InvalidArgument(fmt::format("[MultiHeadAttention] {} heads do not divide {} features",
                                      options.heads, features));
  }
  if (options_.key_features == 0) options_.key_features = features;
  if (options_.value_features == 0) options_.value_features = features;
  if (packed()) {
    parameter("in_proj_weight", {3 * features, features},
              Init::glorot_uniform(features, 3 * features));
  } else {
    const auto declare = [&](const char* name, std::int64_t in) {
      parameter(name, {features, in}, Init::glorot_uniform(in, features));
    };
    declare("q_proj_weight", features);
    declare("k_proj_weight", options_.key_features);
    declare("v_proj_weight", options_.value_features);
  }
  if (options.bias) parameter("in_proj_bias", {3 * features}, Init::zeros());
}

bool MultiHeadAttention::packed() const {
  return options_.key_features == options_.features && options_.value_features == options_.features;
}

Tensors MultiHeadAttention::forward_all(const Tensors& inputs) const {
  if (inputs.empty() || inputs.size() > 3) {
    throw InvalidArgument(
        fmt::format("[MultiHeadAttention] {} inputs; it takes x, query and "
                    "memory, or query, key and value",
                    inputs.size()));
  }
  const Tensor& key = inputs[std::min<std::size_t>(1, inputs.size() - 1)];
  return {attend(inputs.front(), key, inputs.back())};
}

Tensor MultiHeadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionOptions& options) const {
  const std::int64_t features = options_.features;
  const std::vector<std::int64_t> thirds(3, features);
  const Parameter* bias = own("in_proj_bias");
  const bool same = query.id() == key.id() && key.id() == value.id();
  if (packed() && same) {
    const Tensor qkv =
        ops::linear(query, *own("in_proj_weight"), bias != nullptr ? bias->value() : Tensor());
    return out_(attention_within(qkv, options_.heads, options_.heads, options));
  }
  std::vector<Tensor> weights;
  if (packed()) {
    weights = ops::split(*own("in_proj_weight"), thirds, 0);
  } else {
    weights = {*own("q_proj_weight"), *own("k_proj_weight"), *own("v_proj_weight")};
  }
  std::vector<Tensor> biases(3);
  if (bias != nullptr) biases = ops::split(*bias, thirds, 0);
  const auto project = [&](const Tensor& x, std::size_t i) {
    return split_heads(ops::linear(x, weights[i], biases[i]), options_.heads);
  };
  return out_(
      merge_heads(attention(project(query, 0), project(key, 1), project(value, 2), options)));
}

}  // namespace plimsoll::nn
