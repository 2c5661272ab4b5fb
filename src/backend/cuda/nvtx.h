#pragma once

#include <string_view>

namespace plimsoll::cuda::nvtx {

/// A range on the calling thread's line of a profiler's picture, from push() to pop(). Does nothing
/// where no profiler is attached, or where the toolkit that this was built with has no NVTX.
void push(std::string_view name);
void pop() noexcept;

}  // namespace plimsoll::cuda::nvtx
