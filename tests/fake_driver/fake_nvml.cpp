// The management library of fake_cuda.cpp's device: 20 of its 80 GiB are taken. What it tells of
// processes is what PLIMSOLL_FAKE_NVML says: "told" a figure, "hidden" that there is one, "refused"
// nothing. It knows this process only once that has opened the device, which cannot be.

#include <cstdlib>
#include <string_view>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoPermission = 4;
constexpr unsigned long long kNotAvailable = ~0ULL;

struct Memory {
  unsigned long long total, free, used;
};

struct Process {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};

std::string_view mode() {
  const char* const text = std::getenv("PLIMSOLL_FAKE_NVML");  // NOLINT: nobody sets it meanwhile
  return text != nullptr ? text : "told";
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are given
extern "C" {

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int the_one = 0;
  *device = &the_one;
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {80ULL << 30, 60ULL << 30, 20ULL << 30};
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, Process* processes) {
  if (mode() == "refused") return kNoPermission;
  *count = 1;
  processes[0] = {1, mode() == "hidden" ? kNotAvailable : 20ULL << 30, 0, 0};
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
