// scan: the GPU's kernels of a body's ops, step by step.
#include <plimsoll/backend/common/cuda.h>
#include <plimsoll/ops/scan.h>

#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {
namespace {

void add_kernels(KernelTable& table) {
  table.add("scan", {ops::run_scan, [](const ops::OpInputs& inputs, std::span<const TensorType>) {
                       return ops::prepare_scan(inputs, "cuda", kCudaCapabilities.kernel_alignment);
                     }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
