#pragma once

#include <optional>
#include <string>
#include <vector>

#include <plimsoll/base/bytes.h>

namespace plimsoll::cuda {

/// One device as NVIDIA's management library sees it: the figures of nvidia-smi, which need no
/// context. Everything is nullopt where the library is missing or does not tell (in containers it
/// may not know this process). Thread-safe.
class NvmlDevice {
 public:
  /// `pci_bus_id` as cuDeviceGetPCIBusId gives it.
  explicit NvmlDevice(const std::string& pci_bus_id);

  /// What this process holds on the device, the context included. nullopt before it holds any.
  std::optional<Bytes> process_used() const;
  /// True if process_used() will tell nothing whatever the process takes: figures of processes are
  /// refused or left out. False is no promise; a container may still not know this process.
  bool hides_processes() const;
  /// What nobody holds.
  std::optional<Bytes> free() const;

 private:
  struct Process {
    unsigned int id;
    std::optional<Bytes> used;
  };
  /// Those that compute on the device; nullopt where the library does not say.
  std::optional<std::vector<Process>> processes() const;

  void* handle_ = nullptr;
};

}  // namespace plimsoll::cuda
