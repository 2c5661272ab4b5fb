#pragma once

#include <plimsoll/device/device.h>

namespace plimsoll::ops {

/// The device of ops without inputs in this thread, within the scope.
class EagerDeviceScope {
 public:
  explicit EagerDeviceScope(const Device& device);
  EagerDeviceScope(const EagerDeviceScope&) = delete;
  EagerDeviceScope& operator=(const EagerDeviceScope&) = delete;
  ~EagerDeviceScope();

 private:
  const Device* before_;
};

}  // namespace plimsoll::ops
