#pragma once

#include <memory>

#include <plimsoll/device/device_backend.h>

namespace plimsoll::cpu {

struct CpuDeviceOptions {
  /// Granularity; 0 chooses for each scope by its limit.
  Bytes page_size = 0;
  /// Take physical memory when mapping.
  bool populate = false;
};

/// The host as a device: its pages, one stream, memmove. Throws InvalidArgument for a page size
/// that cannot be.
std::shared_ptr<DeviceBackend> open_cpu(const CpuDeviceOptions& options);

/// What "cpu:0" is, without opening it.
DeviceInfo cpu_info();

}  // namespace plimsoll::cpu
