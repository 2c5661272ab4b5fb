#include "backend/cpu/kernels.h"

namespace plimsoll::ops {

const KernelTable& cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    cpu::add_elementwise_kernels(t);
    cpu::add_reduce_kernels(t);
    cpu::add_matmul_kernels(t);
    cpu::add_shape_kernels(t);
    cpu::add_random_kernels(t);
    cpu::add_update_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace plimsoll::ops
