#pragma once

#include <string_view>

#include <plimsoll/device/device.h>

#include "device/device_state.h"

namespace plimsoll::test {

/// A device with a root budget of its own, whatever else of that name is open: it has the name, the
/// memory and the kernels of "cpu:0" or "cuda:N", and only its limit knows nothing of the others.
/// For tests that need several devices or several limits; programs have one, by Device::open.
inline Device own_device(std::string_view name, const DeviceOptions& options = {}) {
  return Device::State::open_apart(name, options);
}

inline Device own_cpu(const DeviceOptions& options = {}) { return own_device("cpu:0", options); }

}  // namespace plimsoll::test
