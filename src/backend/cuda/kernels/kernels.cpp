#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {

const KernelTable& cuda_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    add_attention_kernels(t);
    add_convolution_kernels(t);
    add_linear_cross_entropy_kernels(t);
    add_matmul_kernels(t);
    add_batch_norm_kernels(t);
    add_cross_entropy_kernels(t);
    add_gather_kernels(t);
    add_normalize_kernels(t);
    add_optimizer_update_kernels(t);
    add_pooling_kernels(t);
    add_softmax_kernels(t);
    add_update_kernels(t);
    add_elementwise_kernels(t);
    add_elementwise_activation_kernels(t);
    add_elementwise_math_kernels(t);
    add_compare_kernels(t);
    add_cast_kernels(t);
    add_shape_kernels(t);
    add_random_kernels(t);
    add_reduce_kernels(t);
    add_reduce_index_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace plimsoll::cuda
