#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

namespace plimsoll::cuda::nvtx {

/// A range on the calling thread's line of a profiler's picture, from push() to pop(). Does nothing
/// where no profiler is attached, or where the toolkit that this was built with has no NVTX.
void push(std::string_view name);
void pop() noexcept;

/// Tells a checker of uninitialised reads that `stream` wrote these bytes: it does not see what the
/// kernels of libraries store by bulk copies.
void written(void* at, std::size_t bytes, cudaStream_t stream);

}  // namespace plimsoll::cuda::nvtx
