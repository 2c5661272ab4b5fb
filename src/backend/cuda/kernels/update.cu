#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

/// input 0 = input 1
void run_assign(const KernelContext& k) {
  check(cudaMemcpyAsync(k.in(0).data, k.in(1).data, k.in(0).type.bytes(), cudaMemcpyDeviceToDevice,
                        queue_of(k)),
        "assign");
}

void add_kernels(KernelTable& table) { table.add("assign", {run_assign}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
