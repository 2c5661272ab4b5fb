#pragma once

#include <optional>
#include <string>

#include <plimsoll/base/bytes.h>

namespace plimsoll::cuda {

/// One device as NVIDIA's management library sees it: the figures of nvidia-smi, which need no
/// context. Everything is nullopt where the library is missing or does not tell (in containers it
/// may not know this process). Thread-safe.
class NvmlDevice {
 public:
  /// `pci_bus_id` as cuDeviceGetPCIBusId gives it.
  explicit NvmlDevice(const std::string& pci_bus_id);

  /// What this process holds on the device, the context included.
  std::optional<Bytes> process_used() const;
  /// What nobody holds.
  std::optional<Bytes> free() const;

 private:
  void* handle_ = nullptr;
};

}  // namespace plimsoll::cuda
