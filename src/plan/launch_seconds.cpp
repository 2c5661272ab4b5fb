#include "plan/launch_seconds.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace plimsoll::plan {
namespace {

/// Known devices before compute capability 8.0.
constexpr std::array<std::string_view, 2> kWithoutGeneratedKernels = {"t4", "v100"};

// What an op of a generated kernel costs per element, in f32 operations at the device's rate.
// Fitted to the 22 ops of bench/pointwise_bench.cpp on an H200: on [4096, 4096] and [3001, 1023]
// they took 115 and 33 us in f32, 150 and 37 us in bf16, the copy of the result included; with
// these figures 133 and 28, 164 and 33 us are predicted. Five of the ops are sigmoid, tanh, exp,
// silu and sin; nothing else was measured, and chains of plain arithmetic may be faster. A result
// in 16 bits is rounded before the next op reads it.
constexpr double kFlops = 13;
constexpr double kRoundingFlops = 6.5;

}  // namespace

bool fuses(const DeviceDescription& device) { return device.capabilities.gpu_kernels; }

bool generates_kernels(const DeviceDescription& device) {
  return fuses(device) &&
         std::ranges::find(kWithoutGeneratedKernels, device.name) == kWithoutGeneratedKernels.end();
}

double pointwise_seconds(std::int64_t elements, DType result, const DeviceDescription& device) {
  const bool rounds = result == DType::f16 || result == DType::bf16;
  return static_cast<double>(elements) * (kFlops + (rounds ? kRoundingFlops : 0)) /
         device.flops_f32;
}

double generated_seconds(double arithmetic, double bytes, const DeviceDescription& device) {
  return std::max(arithmetic, bytes / device.bytes_per_second) + device.launch_seconds;
}

double fused_seconds(double apart, std::size_t tasks, double saved,
                     const DeviceDescription& device) {
  const double launches = static_cast<double>(tasks - 1) * device.launch_seconds;
  return std::max(apart - launches - saved / device.bytes_per_second, device.launch_seconds);
}

}  // namespace plimsoll::plan
