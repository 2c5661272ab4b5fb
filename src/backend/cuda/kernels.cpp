#include "backend/cuda/kernels.h"

namespace plimsoll::cuda {

const KernelTable& cuda_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    add_attention_kernels(t);
    add_convolution_kernels(t);
    add_linear_cross_entropy_kernels(t);
    add_matmul_kernels(t);
    add_update_kernels(t);
    add_elementwise_kernels(t);
    add_elementwise_activation_kernels(t);
    add_elementwise_math_kernels(t);
    add_compare_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace plimsoll::cuda
