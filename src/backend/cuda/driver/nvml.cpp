#include "backend/cuda/driver/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace plimsoll::cuda {
namespace {

// The few declarations that are needed, as nvml.h has them; toolkits do not always bring it.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;
constexpr unsigned long long kNotAvailable = ~0ULL;

struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct ProcessInfo {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

struct Nvml {
  Result (*init)() = nullptr;
  Result (*device_by_pci)(const char*, void**) = nullptr;
  Result (*memory_info)(void*, MemoryInfo*) = nullptr;
  Result (*processes)(void*, unsigned int*, ProcessInfo*) = nullptr;
  bool usable = false;
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

const Nvml& nvml() {
  static const Nvml loaded = [] {
    Nvml table;
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return table;
    table.usable = look_up(library, "nvmlInit_v2", table.init) &&
                   look_up(library, "nvmlDeviceGetHandleByPciBusId_v2", table.device_by_pci) &&
                   look_up(library, "nvmlDeviceGetMemoryInfo", table.memory_info) &&
                   look_up(library, "nvmlDeviceGetComputeRunningProcesses_v3", table.processes) &&
                   table.init() == kSuccess;
    return table;
  }();
  return loaded;
}

}  // namespace

NvmlDevice::NvmlDevice(const std::string& pci_bus_id) {
  void* handle = nullptr;
  if (nvml().usable && nvml().device_by_pci(pci_bus_id.c_str(), &handle) == kSuccess) {
    handle_ = handle;
  }
}

std::optional<std::vector<NvmlDevice::Process>> NvmlDevice::processes() const {
  if (handle_ == nullptr) return std::nullopt;
  std::vector<ProcessInfo> infos(16);
  for (;;) {
    auto count = static_cast<unsigned int>(infos.size());
    const Result result = nvml().processes(handle_, &count, infos.data());
    if (result == kInsufficientSize && infos.size() < 65536) {
      infos.resize(infos.size() * 4);
      continue;
    }
    if (result != kSuccess) return std::nullopt;
    infos.resize(count);
    break;
  }
  std::vector<Process> all;
  for (const ProcessInfo& info : infos) {
    all.push_back({.id = info.pid, .used = {}});
    if (info.used != kNotAvailable) all.back().used = info.used;
  }
  return all;
}

std::optional<Bytes> NvmlDevice::process_used() const {
  const auto all = processes();
  if (!all) return std::nullopt;
  const auto self = static_cast<unsigned int>(::getpid());
  for (const Process& each : *all) {
    if (each.id == self && each.used) return each.used;
  }
  return std::nullopt;
}

bool NvmlDevice::hides_processes() const {
  const auto all = processes();
  return !all ||
         std::any_of(all->begin(), all->end(), [](const Process& each) { return !each.used; });
}

std::optional<Bytes> NvmlDevice::free() const {
  MemoryInfo info{};
  if (handle_ == nullptr || nvml().memory_info(handle_, &info) != kSuccess) return std::nullopt;
  return info.free;
}

}  // namespace plimsoll::cuda
