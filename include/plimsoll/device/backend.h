#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/device/capabilities.h>
#include <plimsoll/device/device_backend.h>

namespace plimsoll {

/// A kind of device, as a value: what it is called, what it can do, which devices there are, and
/// how one is opened. How ops run on it is registered by its name (ops::RegisterKernels). Each
/// folder of src/backend registers one; docs/write-a-backend.md has an example.
///
/// The functions are called by any thread. They load a driver when they are first asked, if there
/// is one to load, and not before.
struct Backend {
  /// "cuda" of "cuda:0": lower-case letters, digits and underscores.
  std::string name;
  /// How messages call it: "CUDA".
  std::string title;
  Capabilities capabilities = {};
  /// How many devices there are. 0 where there are none, and then `why` says why: built without,
  /// no driver, no device. Throws DeviceError if the driver fails.
  std::function<int(std::string& why)> count;
  /// Device `ordinal`, which is below count(), without opening it. Throws DeviceError.
  std::function<DeviceInfo(int ordinal)> describe;
  /// Opens it. Throws DeviceError, and InvalidArgument for options that cannot be.
  std::function<std::shared_ptr<DeviceBackend>(int ordinal, const DeviceOptions& options)> open;
};

/// Adds a backend for as long as the program runs. Throws InvalidArgument if there is one of that
/// name, or the name is none. Thread-safe.
const Backend& register_backend(Backend backend);

/// Registers a backend when the program or the library it stands in is loaded:
///
///     const RegisterBackend kRegistered({.name = "cpu", ...});
struct RegisterBackend {
  explicit RegisterBackend(Backend backend) { register_backend(std::move(backend)); }
};

/// All backends: the CPU's first, the others by name.
std::vector<const Backend*> backends();
/// Null if there is none of that name.
const Backend* find_backend(std::string_view name);
/// That of a device by its name, "cuda:0" or "cuda"; null if there is none. Whether there is such a
/// device is another question.
const Backend* backend_of(std::string_view device_name);

/// A backend in a shared library of its own exports a function of this name. It returns what
/// register_backend would be given, which lives as long as the program, or null and a reason in
/// `why`. The library's kernels register themselves when it is loaded.
inline constexpr const char* kBackendSymbol = "plimsoll_backend";
using BackendFunction = const Backend* (*)(std::string& why);

}  // namespace plimsoll
