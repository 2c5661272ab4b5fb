#include <dlfcn.h>

#include <string>

#include <plimsoll/device/backend.h>

namespace plimsoll {
namespace {

constexpr const char* kLibrary = "libplimsoll_cuda.so";
constexpr const char* kDriver = "libcuda.so.1";

struct Loaded {
  CudaModule* module = nullptr;
  std::string why;
};

/// The folder this library was loaded from, with its last slash; empty if nothing tells.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&cuda_module), &info) == 0) return {};
  const std::string path = info.dli_fname != nullptr ? info.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1);
}

Loaded load() {
  Loaded loaded;
  // The module brings libraries of half a gigabyte along, which nobody needs without a driver.
  if (::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* error = ::dlerror();
    loaded.why = std::string("no NVIDIA driver: ") + (error != nullptr ? error : kDriver);
    return loaded;
  }
  // Beside this library first: that one belongs to it. Never closed, as devices may live until the
  // program ends.
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  const std::string folder = own_folder();
  void* library = folder.empty() ? nullptr : ::dlopen((folder + kLibrary).c_str(), kFlags);
  if (library == nullptr) {
    const char* error = folder.empty() ? nullptr : ::dlerror();
    if (error != nullptr) loaded.why = error;
    library = ::dlopen(kLibrary, kFlags);
  }
  if (library == nullptr) {
    const char* error = ::dlerror();
    if (loaded.why.empty() && error != nullptr) loaded.why = error;
    loaded.why = "the CUDA library of Plimsoll cannot be loaded: " + loaded.why;
    return loaded;
  }
  auto* function = reinterpret_cast<CudaModuleFunction>(::dlsym(library, kCudaModuleSymbol));
  if (function == nullptr) {
    loaded.why =
        std::string(kLibrary) + " has no " + kCudaModuleSymbol + "; is it of this version?";
    return loaded;
  }
  loaded.why.clear();
  loaded.module = function(&loaded.why);
  return loaded;
}

}  // namespace

CudaModule* cuda_module(std::string* why) {
  static const Loaded loaded = load();
  if (loaded.module == nullptr && why != nullptr) *why = loaded.why;
  return loaded.module;
}

}  // namespace plimsoll
