#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <plimsoll/device/backend.h>
#include <plimsoll/device/device.h>
#include <plimsoll/memory/trace.h>

namespace plimsoll {

/// What all handles of a device share: an opened one, a logical one or a session. Everything but
/// `children` and `closed` is fixed once it is made. Members are destroyed from the last to the
/// first: the arena before the budget it stands on, that before its parent.
struct Device::State {
  State(std::string device_name, std::shared_ptr<DeviceBackend> device_backend,
        std::shared_ptr<State> parent_state, Budget own_budget)
      : name(std::move(device_name)),
        backend(std::move(device_backend)),
        kind(registered(name)),
        parent(std::move(parent_state)),
        budget(std::move(own_budget)),
        mutex(parent != nullptr ? parent->mutex : std::make_shared<std::mutex>()) {}

  /// Opens a device on `backend`, whose info().name is the device's. Unlike Device::open it makes a
  /// root budget in any case: for Device::open itself, and for tests that need several.
  static Device open(const std::shared_ptr<DeviceBackend>& backend, const DeviceOptions& options);
  static std::unique_ptr<State> make(const std::shared_ptr<DeviceBackend>& backend,
                                     const DeviceOptions& options);
  /// Device::open() for whoever named none. Nobody has stated a limit for it yet: the first who
  /// does moves it.
  static Device open_default(std::string_view name, const DeviceOptions& options);
  /// open() on the backend that Device::open would use for `name`.
  static Device open_apart(std::string_view name, const DeviceOptions& options);

  /// A scope under `parent`, with an arena of its own on `budget`.
  static std::shared_ptr<State> make_child(const std::shared_ptr<State>& parent, std::string name,
                                           Budget budget);

  /// What `device` stands on. Throws InvalidArgument naming the function `who` if it was moved
  /// from.
  static DeviceBackend& opened(const Device& device, const char* who) {
    return *device.state(who).backend;
  }

  /// The backend that `device` is of. Throws InternalError if it was not registered.
  static const Backend& registered(const std::string& device);

  /// Throws Error naming this device and the function `who` if it was closed.
  void require_open(const char* who) const;

  /// Closes the scopes below, then the arena, and ends the guarantee. Idempotent.
  void close();

  /// The children still around. Needs `mutex`.
  std::vector<std::shared_ptr<State>> live_children();

  /// The lowest limit from here to the opened device.
  Bytes lowest_limit() const;

  const std::string name;
  const std::shared_ptr<DeviceBackend> backend;
  const Backend& kind;                  ///< what `name` begins with
  const std::shared_ptr<State> parent;  ///< null for an opened device
  const Budget budget;
  Guarantee guarantee;  ///< of a logical device, until it is closed; guarded by `mutex`
  Charge runtime_charge;
  std::vector<Charge> recordings;  ///< what the driver took for them; guarded by `mutex`
  std::shared_ptr<TraceRecorder> trace;
  Bytes baseline = 0;
  int ordinal = 0;
  DeviceOptions options;  ///< of an opened device
  /// True for one that nobody opened or gave a limit to: it was the default where none was named.
  std::atomic<bool> opened_by_default{false};
  std::atomic<bool> closed{false};
  const std::shared_ptr<std::mutex> mutex;  ///< guards `children` of all scopes of a device
  std::vector<std::weak_ptr<State>> children;
  std::unique_ptr<Arena> arena;
};

}  // namespace plimsoll
