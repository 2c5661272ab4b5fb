#pragma once

#include <plimsoll/device/capabilities.h>
#include <plimsoll/tensor/dlpack.h>

namespace plimsoll {

/// What NVIDIA's GPUs can do: known without one, as plans are made for GPUs that are not here.
inline constexpr Capabilities kCudaCapabilities = {.asynchronous = true,
                                                   .channels_last = true,
                                                   .gpu_kernels = true,
                                                   .kernel_alignment = 16,
                                                   .dlpack_type = dlpack::kDLCUDA};

}  // namespace plimsoll
