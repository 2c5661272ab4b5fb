#include "backend/cuda/kernels.h"

namespace plimsoll::cuda {

const KernelTable& cuda_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    add_batch_norm_kernels(t);
    add_cross_entropy_kernels(t);
    add_gather_kernels(t);
    add_normalize_kernels(t);
    add_optimizer_update_kernels(t);
    add_pooling_kernels(t);
    add_softmax_kernels(t);
    add_update_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace plimsoll::cuda
