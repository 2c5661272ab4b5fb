// scan: the CPU's kernels of a body's ops, step by step.
#include <plimsoll/ops/scan.h>

#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {
namespace {

void add_kernels(KernelTable& table) {
  table.add("scan", {ops::run_scan, [](const ops::OpInputs& inputs, std::span<const TensorType>) {
                       return ops::prepare_scan(inputs, "cpu", 1);
                     }});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
