#pragma once

#include <span>

#include <plimsoll/ops/op_def.h>

// Each family's ops, defined in the file of its name. registry.cpp puts them together.

namespace plimsoll::ops {

using Family = std::span<const OpDef* const>;

Family elementwise_unary_ops();
Family elementwise_math_ops();
Family elementwise_activation_ops();
Family elementwise_binary_ops();
Family cast_ops();
Family reduce_ops();
Family matmul_ops();
Family shape_ops();
Family concat_split_ops();
Family pad_slice_ops();
Family random_ops();
Family update_ops();
Family compare_ops();
Family select_ops();
Family reduce_index_ops();
Family convolution_ops();
Family pooling_ops();
Family normalize_ops();
Family batch_norm_ops();
Family dropout_ops();
Family softmax_ops();
Family cross_entropy_ops();
Family linear_cross_entropy_ops();
Family attention_ops();
Family self_attention_ops();
Family gather_ops();
Family optimizer_update_ops();

}  // namespace plimsoll::ops
