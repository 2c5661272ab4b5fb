#include "backend/cuda/driver/driver.h"

#include <dlfcn.h>

namespace plimsoll::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Loaded {
  Driver driver;
  std::string why;  ///< why it cannot be used; empty if it can
};

Loaded open_driver() {
  Loaded loaded;
  // Never closed: the driver has threads and handlers of its own.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = ::dlerror();
    loaded.why = std::string("no NVIDIA driver: ") + (error != nullptr ? error : kLibrary);
    return loaded;
  }
  Driver& driver = loaded.driver;
#define PLIMSOLL_NAME(call) #call
#define PLIMSOLL_LOOK_UP(call)                                                                  \
  driver.call = reinterpret_cast<decltype(driver.call)>(::dlsym(library, PLIMSOLL_NAME(call))); \
  if (driver.call == nullptr) {                                                                 \
    loaded.why = "the NVIDIA driver is too old: it has no " PLIMSOLL_NAME(call);                \
    return loaded;                                                                              \
  }
  PLIMSOLL_CUDA_DRIVER_CALLS(PLIMSOLL_LOOK_UP)
#undef PLIMSOLL_LOOK_UP
#undef PLIMSOLL_NAME

  int devices = 0;
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
    loaded.why = "cuInit: " + driver.describe(result);
  } else if (driver.cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
    loaded.why = "the NVIDIA driver shows no device; see CUDA_VISIBLE_DEVICES";
  }
  return loaded;
}

}  // namespace

const Driver* Driver::load(std::string* why) {
  static const Loaded loaded = open_driver();
  if (loaded.why.empty()) return &loaded.driver;
  if (why != nullptr) *why = loaded.why;
  return nullptr;
}

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return "error " + std::to_string(static_cast<int>(result));
  }
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
  return std::string(name) + ": " + text;
}

}  // namespace plimsoll::cuda
