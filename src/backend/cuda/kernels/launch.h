#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include <plimsoll/ops/kernel.h>

// What every kernel's host side needs. Device code is in *.cu and *.cuh.

namespace plimsoll::cuda {

/// The stream that a kernel's work goes to.
inline cudaStream_t queue_of(const ops::KernelContext& k) {
  return static_cast<cudaStream_t>(k.queue);
}

/// Throws DeviceError: "[matmul] cudaErrorInvalidValue: invalid argument".
void check(cudaError_t result, const char* who);
/// After a launch: whether it could be made at all.
inline void check_launch(const char* who) { check(cudaGetLastError(), who); }

inline constexpr int kThreads = 256;

/// Blocks of `threads` for `work` threads, at most `most` of them: kernels loop over the rest.
inline unsigned blocks_for(std::int64_t work, int threads = kThreads,
                           std::int64_t most = 132 * 16) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((work + threads - 1) / threads, 1, most));
}

}  // namespace plimsoll::cuda
