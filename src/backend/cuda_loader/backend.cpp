// CUDA as a backend of the core: a shared library of its own brings it, which is loaded when it is
// first asked for.
#include <plimsoll/device/backend.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/backend/common/cuda.h>
#include <plimsoll/base/error.h>
#include <plimsoll/base/version.h>

namespace plimsoll {
namespace {

constexpr const char* kLibrary = "libplimsoll_cuda.so";
constexpr const char* kDriver = "libcuda.so.1";
/// The folder that the wheel plimsoll-cuda13 has beside the package's.
constexpr const char* kWheelFolder = "plimsoll_cuda13";

struct Loaded {
  const Backend* backend = nullptr;
  std::string why;
};
const Loaded& loaded();

/// The folder this library was loaded from; empty if nothing tells.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&loaded), &info) == 0) return {};
  const std::filesystem::path file(info.dli_fname != nullptr ? info.dli_fname : "");
  return file.lexically_normal().parent_path();  // "bin/../lib" has other folders above it
}

/// A library that the user names; empty: it is looked for.
std::filesystem::path stated_library() {
  const char* stated = std::getenv("PLIMSOLL_CUDA_LIBRARY");  // NOLINT: read, not kept
  return stated != nullptr ? stated : "";
}

/// Where the library may be, the likeliest first. The wheel's has the version in its name: one of
/// another version must not even be loaded, as its kernels register themselves then.
std::vector<std::filesystem::path> places(const std::filesystem::path& folder) {
  if (!stated_library().empty()) return {stated_library()};
  std::vector<std::filesystem::path> result;
  if (!folder.empty()) {
    result.push_back(folder / kLibrary);
    result.push_back(folder.parent_path().parent_path() / kWheelFolder /
                     fmt::format("{}.{}", kLibrary, version()));
  }
  result.emplace_back(kLibrary);
  return result;
}

std::string last_error() {
  const char* error = ::dlerror();
  return error != nullptr ? error : "for a reason that the linker does not tell";
}

/// Why nothing was loaded, and what to do about it. `error` is that of a library that is there.
std::string why_not(const std::filesystem::path& folder, const std::string& error) {
  const std::string wheel = fmt::format("pip install 'plimsoll-cuda13[nvidia]=={}'", version());
  if (!error.empty()) {
    const bool lacks_some = error.find("cannot open shared object file") != std::string::npos;
    return fmt::format("the CUDA library of Plimsoll cannot be loaded: {}{}", error,
                       !lacks_some ? ""
                                   : fmt::format("; {} brings NVIDIA's libraries, or have CUDA 13 "
                                                 "and cuDNN 9 where the linker finds them "
                                                 "(LD_LIBRARY_PATH)",
                                                 wheel));
  }
  if (!stated_library().empty()) {
    return fmt::format("PLIMSOLL_CUDA_LIBRARY names {}, which is not there",
                       stated_library().string());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(folder.parent_path().parent_path() / kWheelFolder, ignored)) {
    return fmt::format("plimsoll-cuda13 is of another version than plimsoll: {}", wheel);
  }
  return fmt::format(
      "the CUDA library of Plimsoll is not here: {}, or build with -DPLIMSOLL_CUDA=ON where a "
      "toolkit is installed",
      wheel);
}

Loaded load() {
  Loaded result;
  // The library brings others of half a gigabyte along, which nobody needs without a driver.
  if (::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    result.why = fmt::format("no NVIDIA driver: {}", last_error());
    return result;
  }
  const std::filesystem::path folder = own_folder();
  void* library = nullptr;
  std::string error;
  for (const std::filesystem::path& place : places(folder)) {
    // Never closed, as devices may live until the program ends.
    library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != nullptr) break;
    const std::string told = last_error();
    const bool is_there = !told.starts_with(place.string() + ": cannot open shared object file");
    if (is_there && error.empty()) error = told;
  }
  if (library == nullptr) {
    result.why = why_not(folder, error);
    return result;
  }
  auto* function = reinterpret_cast<BackendFunction>(::dlsym(library, kBackendSymbol));
  if (function == nullptr) {
    result.why = fmt::format("{} has no {}; is it of this version?", kLibrary, kBackendSymbol);
    return result;
  }
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
