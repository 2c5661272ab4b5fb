#pragma once

#include <functional>
#include <memory>

#include <plimsoll/device/device.h>

#include "backend/cuda/context.h"

namespace plimsoll::cuda {

/// What `work` submits to `stream`, as a graph of the driver's. The calling thread may not
/// synchronise meanwhile; other threads may do what they like. Throws DeviceError, or what `work`
/// throws; then nothing is left of it.
std::unique_ptr<Recording> make_recording(std::shared_ptr<Context> context, CUstream stream,
                                          const std::function<void()>& work);

}  // namespace plimsoll::cuda
