#pragma once

#include <cstdint>
#include <span>

#include <plimsoll/ops/op_def.h>
#include <plimsoll/plan/device_description.h>

namespace plimsoll::plan {

/// Whether neighbouring tasks may run as one launch on such a device, by the patterns of
/// ops/fused.h. The CPU runs tasks one by one.
bool fuses(const DeviceDescription& device);
/// Whether kernels are generated for neighbouring pointwise tasks there (ops/pointwise.h): on GPUs
/// from compute capability 8.0 on, provided that NVRTC is found when the step runs.
bool generates_kernels(const DeviceDescription& device);

/// What one op of a generated kernel adds to its arithmetic.
double pointwise_seconds(std::int64_t elements, DType result, const DeviceDescription& device);
/// What a generated kernel takes: the longer of its arithmetic, the sum of the above, and of its
/// traffic, and one launch. `bytes`: each array it reads once, each result it writes once.
double generated_seconds(double arithmetic, double bytes, const DeviceDescription& device);

/// What several tasks take as one launch of a hand-written kernel, if they take `apart` one by one:
/// one launch, without the `saved` bytes that one task would write for the other, or read.
double fused_seconds(double apart, std::size_t tasks, double saved,
                     const DeviceDescription& device);

}  // namespace plimsoll::plan
