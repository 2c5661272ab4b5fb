#pragma once

#include <memory>
#include <string>

#include <plimsoll/device/backend.h>

#include "backend/cuda/driver/driver.h"

namespace plimsoll::cuda {

/// Opens a device: makes its context, touches what is loaded at first use, and measures what that
/// took. Throws DeviceError.
std::shared_ptr<DeviceBackend> open_backend(const Driver& driver, int ordinal);

/// A device's description, without a context. Throws DeviceError.
DeviceInfo describe_device(const Driver& driver, int ordinal);

}  // namespace plimsoll::cuda
