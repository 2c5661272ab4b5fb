#pragma once

#include <initializer_list>

#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/multi_head_attention.h>

// Several dense layers over one x as a single product. Their weights stay parameters of their own
// and are put together in each step, which costs little beside what one product saves over three.

namespace plimsoll::nn {

/// What `layers` make of x, side by side: [..., sum of their results]. Their weights are [out, in],
/// and all or none of them have a bias.
Tensor joined(const Tensor& x, std::initializer_list<const Dense*> layers);

/// Attention among the tokens of qkv [n, tokens, (heads + 2 * key heads) * size], which has
/// queries, keys and values side by side: [n, tokens, heads * size]. See attention().
Tensor attention_within(const Tensor& qkv, std::int64_t heads, std::int64_t key_heads,
                        const AttentionOptions& options = {});

}  // namespace plimsoll::nn
