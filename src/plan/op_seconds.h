#pragma once

#include <span>

#include <plimsoll/ops/op_def.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// Seconds that an op takes on a device, as predicted: for products, convolutions, attention and
/// heads of language models on a GPU from what their kernels were measured to reach, for others
/// from the roofline.
double op_seconds(const ops::OpInputs& inputs, std::span<const TensorType> outputs,
                  const DeviceDescription& device);

/// How much of that TF32 would save: 0 for ops that are not computed in f32, have it already, or
/// cannot.
double tf32_saves(const ops::OpInputs& inputs, std::span<const TensorType> outputs,
                  const DeviceDescription& device);

}  // namespace plimsoll::plan
