#include "backend/cpu/kernels.h"

namespace plimsoll::ops {

const KernelTable& cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    cpu::add_elementwise_kernels(t);
    cpu::add_elementwise_math_kernels(t);
    cpu::add_elementwise_activation_kernels(t);
    cpu::add_cast_kernels(t);
    cpu::add_reduce_kernels(t);
    cpu::add_matmul_kernels(t);
    cpu::add_shape_kernels(t);
    cpu::add_random_kernels(t);
    cpu::add_update_kernels(t);
    cpu::add_compare_kernels(t);
    cpu::add_select_kernels(t);
    cpu::add_reduce_index_kernels(t);
    cpu::add_convolution_kernels(t);
    cpu::add_pooling_kernels(t);
    cpu::add_normalize_kernels(t);
    cpu::add_batch_norm_kernels(t);
    cpu::add_dropout_kernels(t);
    cpu::add_softmax_kernels(t);
    cpu::add_cross_entropy_kernels(t);
    cpu::add_linear_cross_entropy_kernels(t);
    cpu::add_attention_kernels(t);
    cpu::add_gather_kernels(t);
    cpu::add_optimizer_update_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace plimsoll::ops
