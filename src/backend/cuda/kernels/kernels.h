#pragma once

#include <plimsoll/ops/kernel.h>

// The kernels of the CUDA backend, a list per family, as in backend/cpu/kernels.h. All of them run
// asynchronously on KernelContext::queue, read nothing on the host, allocate nothing, use no
// atomics on floating-point numbers, and give the same bits for the same inputs every time.

namespace plimsoll::cuda {

using ops::KernelContext;
using ops::KernelTable;
using ops::TensorView;

void add_attention_kernels(KernelTable& table);
void add_convolution_kernels(KernelTable& table);
void add_linear_cross_entropy_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_batch_norm_kernels(KernelTable& table);
void add_cross_entropy_kernels(KernelTable& table);
void add_gather_kernels(KernelTable& table);
void add_normalize_kernels(KernelTable& table);
void add_optimizer_update_kernels(KernelTable& table);
void add_pooling_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_update_kernels(KernelTable& table);
void add_elementwise_kernels(KernelTable& table);
void add_elementwise_activation_kernels(KernelTable& table);
void add_elementwise_math_kernels(KernelTable& table);
void add_compare_kernels(KernelTable& table);
void add_cast_kernels(KernelTable& table);
void add_shape_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_reduce_kernels(KernelTable& table);
void add_reduce_index_kernels(KernelTable& table);

/// All of them.
const KernelTable& cuda_kernels();

}  // namespace plimsoll::cuda
