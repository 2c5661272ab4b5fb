#pragma once

#include <plimsoll/ops/kernel.h>

// What every file of kernels uses. Each registers its own, as in backend/cpu. All of them run
// asynchronously on KernelContext::queue, read nothing on the host, allocate nothing, use no
// atomics on floating-point numbers, and give the same bits for the same inputs every time.

namespace plimsoll::cuda {

using ops::KernelContext;
using ops::KernelTable;
using ops::RegisterKernels;
using ops::TensorView;

}  // namespace plimsoll::cuda
