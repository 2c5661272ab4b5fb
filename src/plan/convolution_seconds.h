#pragma once

#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// Seconds of a convolution on a GPU by the kernels of its route, for those that have fast ones.
double convolution_seconds(const ops::ConvWork& work, const DeviceDescription& device);

}  // namespace plimsoll::plan
