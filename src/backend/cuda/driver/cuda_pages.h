#pragma once

#include <memory>

#include <plimsoll/memory/page_source.h>

#include "backend/cuda/driver/context.h"

namespace plimsoll::cuda {

/// Memory of a GPU through the driver's virtual memory calls. Pages are the driver's granularity
/// (2 MiB); chunks are of 1, 8 and 32 pages, each one physical allocation of the driver.
std::shared_ptr<PageSource> make_cuda_pages(std::shared_ptr<Context> context);

}  // namespace plimsoll::cuda
