#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <plimsoll/device/device.h>

namespace plimsoll::test {

/// Why a device cannot be tested here; empty if it can.
inline std::string why_missing(std::string_view device) {
  std::map<std::string, std::string> missing;
  const auto devices = list_devices(&missing);
  if (std::any_of(devices.begin(), devices.end(),
                  [&](const DeviceInfo& info) { return info.name == device; })) {
    return "";
  }
  const auto why = missing.find(std::string(device.substr(0, device.find(':'))));
  return why == missing.end() ? "there is no " + std::string(device) : why->second;
}

}  // namespace plimsoll::test
