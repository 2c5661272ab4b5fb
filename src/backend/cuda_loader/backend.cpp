// CUDA as a backend of the core: a shared library of its own brings it, which is loaded when it is
// first asked for.
#include <plimsoll/device/backend.h>

#include <dlfcn.h>

#include <string>

#include <plimsoll/backend/common/cuda.h>
#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

constexpr const char* kLibrary = "libplimsoll_cuda.so";
constexpr const char* kDriver = "libcuda.so.1";

struct Loaded {
  const Backend* backend = nullptr;
  std::string why;
};
const Loaded& loaded();

/// The folder this library was loaded from, with its last slash; empty if nothing tells.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&loaded), &info) == 0) return {};
  const std::string path = info.dli_fname != nullptr ? info.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1);
}

Loaded load() {
  Loaded result;
  // The module brings libraries of half a gigabyte along, which nobody needs without a driver.
  if (::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* error = ::dlerror();
    result.why = std::string("no NVIDIA driver: ") + (error != nullptr ? error : kDriver);
    return result;
  }
  // Beside this library first: that one belongs to it. Never closed, as devices may live until the
  // program ends.
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  const std::string folder = own_folder();
  void* library = folder.empty() ? nullptr : ::dlopen((folder + kLibrary).c_str(), kFlags);
  if (library == nullptr) {
    const char* error = folder.empty() ? nullptr : ::dlerror();
    if (error != nullptr) result.why = error;
    library = ::dlopen(kLibrary, kFlags);
  }
  if (library == nullptr) {
    const char* error = ::dlerror();
    if (result.why.empty() && error != nullptr) result.why = error;
    result.why = "the CUDA library of Plimsoll cannot be loaded: " + result.why;
    return result;
  }
  auto* function = reinterpret_cast<BackendFunction>(::dlsym(library, kBackendSymbol));
  if (function == nullptr) {
    result.why = std::string(kLibrary) + " has no " + kBackendSymbol + "; is it of this version?";
    return result;
  }
  result.why.clear();
  result.backend = function(result.why);
  return result;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

/// Throws DeviceError with the reason where there is none.
const Backend& required() {
  if (loaded().backend == nullptr) throw DeviceError("[cuda] " + loaded().why);
  return *loaded().backend;
}

const RegisterBackend kRegistered(
    {.name = "cuda",
     .title = "CUDA",
     .capabilities = kCudaCapabilities,
     .count =
         [](std::string& why) {
           if (loaded().backend != nullptr) return loaded().backend->count(why);
           why = loaded().why;
           return 0;
         },
     .describe = [](int ordinal) { return required().describe(ordinal); },
     .open = [](int ordinal,
                const DeviceOptions& options) { return required().open(ordinal, options); }});

}  // namespace
}  // namespace plimsoll
