#pragma once

#include <plimsoll/ops/kernel.h>

// Each file of kernels adds its own; kernels.cpp calls them all.

namespace plimsoll::cpu {

using ops::Kernel;
using ops::KernelContext;
using ops::KernelTable;
using ops::TensorView;

void add_elementwise_kernels(KernelTable& table);
void add_reduce_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_shape_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_update_kernels(KernelTable& table);

}  // namespace plimsoll::cpu
