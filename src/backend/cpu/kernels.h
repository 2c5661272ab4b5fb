#pragma once

#include <plimsoll/ops/kernel.h>

// What every file of kernels uses. Each registers its own: no list names them.

namespace plimsoll::cpu {

using ops::Kernel;
using ops::KernelContext;
using ops::KernelTable;
using ops::RegisterKernels;
using ops::TensorView;

}  // namespace plimsoll::cpu
