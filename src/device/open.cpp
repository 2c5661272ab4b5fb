#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/device.h>

#include "device/device_state.h"

namespace plimsoll {
namespace {

[[noreturn]] void unknown_device(std::string_view name) {
  std::map<std::string, std::string> missing;
  std::vector<std::string> names;
  for (const DeviceInfo& info : list_devices(&missing)) names.push_back(info.name);
  std::string why;
  for (const auto& [backend, reason] : missing) {
    why += fmt::format(" (no {}: {})", find_backend(backend)->title, reason);
  }
  throw InvalidArgument(fmt::format("[Device::open] unknown device \"{}\"; there is {}{}",
                                    name.substr(0, 64), fmt::join(names, ", "), why));
}

/// A device as it is called: "cuda:3", or "cuda" for "cuda:0".
struct DeviceName {
  const Backend* backend = nullptr;
  int ordinal = 0;

  std::string to_string() const { return fmt::format("{}:{}", backend->name, ordinal); }
};

/// Nothing for a name that no device has.
std::optional<DeviceName> parse_name(std::string_view name) {
  DeviceName parsed{.backend = backend_of(name)};
  if (parsed.backend == nullptr) return std::nullopt;
  name.remove_prefix(parsed.backend->name.size());
  if (name.empty()) return parsed;
  name.remove_prefix(1);
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), parsed.ordinal);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  if (name.front() == '-' || (name.front() == '0' && name.size() > 1)) return std::nullopt;
  return parsed;
}

/// Throws InvalidArgument if there is no such device.
DeviceName existing(std::string_view name) {
  const auto parsed = parse_name(name);
  std::string why;
  if (!parsed || parsed->ordinal >= parsed->backend->count(why)) unknown_device(name);
  return *parsed;
}

/// The limit in bytes, checked against the device.
Bytes resolve_limit(const DeviceInfo& info, const DeviceBackend& backend, const Limit& wanted) {
  const auto limit = wanted.resolve(info.total);
  if (!limit) {
    // `free` was read after opening took the runtime, which the limit covers.
    const Bytes all = std::min(info.free.value() + backend.runtime(), info.total);
    // With little left, half goes to the process: it cannot run on nothing either.
    return all - std::min(backend.process_reserve(), all / 2);
  }
  if (*limit == 0) {
    throw InvalidArgument(
        fmt::format("[Device::open] a limit of 0 on {}; give at least a few MiB", info.name));
  }
  if (*limit > info.total) {
    throw InvalidArgument(
        fmt::format("[Device::open] a limit of {} on {}, which has {} in all; give at most that",
                    format_bytes(*limit), info.name, format_bytes(info.total)));
  }
  return *limit;
}

/// The opened devices of this process, by name. A device is here until it is closed to the end, so
/// that whoever opens it anew finds its memory back with the system.
class OpenDevices {
 public:
  static OpenDevices& instance() {
    // Never destroyed: devices may close after everything static is gone.
    static auto* const all = new OpenDevices;  // NOLINT(cppcoreguidelines-owning-memory)
    return *all;
  }

  /// The device of that name, by `open` if it is not open yet. One is opened at a time.
  std::shared_ptr<Device::State> find(const std::string& name,
                                      const std::function<std::unique_ptr<Device::State>()>& open) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = open_.find(name);
      if (found == open_.end()) break;
      if (auto device = found->second.lock()) return device;
      closed_.wait(lock);
    }
    std::shared_ptr<Device::State> device(open().release(), [this, name](Device::State* state) {
      std::default_delete<Device::State>()(state);
      const std::lock_guard closing(mutex_);
      open_.erase(name);
      closed_.notify_all();
    });
    open_.emplace(name, device);
    return device;
  }

 private:
  std::mutex mutex_;
  std::condition_variable closed_;
  std::map<std::string, std::weak_ptr<Device::State>> open_;
};

/// Throws if `wanted` asks for something that the opened device is not.
void require_same(const Device::State& device, const DeviceInfo& info,
                  const DeviceOptions& wanted) {
  const DeviceOptions& has = device.options;
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(fmt::format(
        "[Device::open] {0} is already open {1}, and a process has one budget for each device: "
        "open it without that option to share it, move the limit of its budget, or divide it with "
        "split()",
        device.name, what));
  };
  const auto limit = wanted.limit.resolve(info.total);
  if (const Bytes now = device.budget.limit(); limit && *limit != now) {
    refuse(fmt::format("with a limit of {}, not {}", format_bytes(now), format_bytes(*limit)));
  }
  if (wanted.preallocate && !has.preallocate) refuse("without preallocation");
  if (wanted.page_size != 0 && wanted.page_size != has.page_size) {
    refuse(has.page_size == 0 ? "without a page size"
                              : fmt::format("with pages of {}", format_bytes(has.page_size)));
  }
  if (!wanted.trace.empty() && wanted.trace != has.trace) {
    refuse(has.trace.empty() ? "without a trace" : "with a trace to " + has.trace);
  }
}

}  // namespace

Device Device::open(std::string_view name, const DeviceOptions& options) {
  const DeviceName wanted = existing(name);
  bool fresh = false;
  const auto state = OpenDevices::instance().find(wanted.to_string(), [&] {
    fresh = true;
    return State::make(wanted.backend->open(wanted.ordinal, options), options);
  });
  if (!fresh) {
    const DeviceInfo info = state->backend->info();
    const bool stated = options.limit.resolve(info.total).has_value();
    const Bytes limit = stated ? resolve_limit(info, *state->backend, options.limit) : 0;
    if (stated && state->opened_by_default) state->budget.set_limit(limit);
    require_same(*state, info, options);
    state->opened_by_default = false;
  }
  return Device(state);
}

Device Device::State::open_default(std::string_view name, const DeviceOptions& options) {
  const DeviceName wanted = existing(name);
  const auto state = OpenDevices::instance().find(wanted.to_string(), [&] {
    auto made = make(wanted.backend->open(wanted.ordinal, options), options);
    made->opened_by_default = !options.limit.resolve(made->backend->info().total).has_value();
    return made;
  });
  return Device(state);
}

const Backend& Device::State::registered(const std::string& device) {
  const Backend* backend = backend_of(device);
  if (backend == nullptr) {
    throw InternalError(fmt::format("[Device::open] {} is of no registered backend", device));
  }
  return *backend;
}

Device Device::State::open_apart(std::string_view name, const DeviceOptions& options) {
  const DeviceName wanted = existing(name);
  return open(wanted.backend->open(wanted.ordinal, options), options);
}

Device Device::State::open(const std::shared_ptr<DeviceBackend>& backend,
                           const DeviceOptions& options) {
  return Device(make(backend, options));
}

std::unique_ptr<Device::State> Device::State::make(const std::shared_ptr<DeviceBackend>& backend,
                                                   const DeviceOptions& options) {
  const DeviceInfo info = backend->info();
  const Bytes runtime = backend->runtime();
  const Bytes limit = resolve_limit(info, *backend, options.limit);
  if (runtime > limit) {
    throw BudgetTooSmall(fmt::format(
        "[Device::open] the driver's context on {} takes {} before the first tensor, and the limit "
        "is {}; give more than {}",
        info.name, format_bytes(runtime), format_bytes(limit), format_bytes(runtime)));
  }
  auto state = std::make_unique<State>(info.name, backend, nullptr,
                                       Budget::root(info.name, limit, info.total));
  state->options = options;
  const bool host = state->kind.capabilities.host_memory;
  state->baseline = host ? backend->process_used().value_or(0) : 0;
  if (const auto parsed = parse_name(info.name)) state->ordinal = parsed->ordinal;
  if (runtime != 0) {
    state->runtime_charge = state->budget.charge(Tag::runtime, "driver context", runtime);
  }
  if (!options.trace.empty()) state->trace = std::make_shared<TraceRecorder>(options.trace);
  state->arena = std::make_unique<Arena>(
      backend->pages_for(limit), state->budget,
      ArenaOptions{
          .preallocate = options.preallocate, .fences = backend->fences(), .trace = state->trace});
  return state;
}

std::vector<DeviceInfo> list_devices(std::map<std::string, std::string>* missing) {
  std::vector<DeviceInfo> devices;
  for (const Backend* backend : backends()) {
    std::string why;
    try {
      const int count = backend->count(why);
      for (int ordinal = 0; ordinal < count; ++ordinal) {
        devices.push_back(backend->describe(ordinal));
      }
    } catch (const Error& error) {
      why = error.what();
    }
    if (missing != nullptr && !why.empty()) missing->emplace(backend->name, why);
  }
  return devices;
}

}  // namespace plimsoll
