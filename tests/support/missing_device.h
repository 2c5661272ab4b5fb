#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <plimsoll/device/device.h>

namespace plimsoll::test {

/// Why a device cannot be tested here; empty if it can.
inline std::string why_missing(std::string_view device) {
  std::string why;
  const auto devices = list_devices(&why);
  if (std::any_of(devices.begin(), devices.end(),
                  [&](const DeviceInfo& info) { return info.name == device; })) {
    return "";
  }
  return why.empty() ? "there is no " + std::string(device) : why;
}

}  // namespace plimsoll::test
