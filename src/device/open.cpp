#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>
#include <plimsoll/device/device.h>

#include "device/cpu_backend.h"
#include "device/device_state.h"

namespace plimsoll {
namespace {

[[noreturn]] void unknown_device(std::string_view name) {
  std::string why_no_cuda;
  std::vector<std::string> names;
  for (const DeviceInfo& info : list_devices(&why_no_cuda)) names.push_back(info.name);
  throw InvalidArgument(fmt::format("[Device::open] unknown device \"{}\"; there is {}{}",
                                    name.substr(0, 64), fmt::join(names, ", "),
                                    why_no_cuda.empty() ? "" : " (no CUDA: " + why_no_cuda + ")"));
}

/// "cuda:3" is 3, "cuda" is 0; nothing for any other name.
std::optional<int> ordinal_of(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind)) return std::nullopt;
  name.remove_prefix(kind.size());
  if (name.empty()) return 0;
  if (!name.starts_with(':')) return std::nullopt;
  name.remove_prefix(1);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  if (name.front() == '-' || (name.front() == '0' && name.size() > 1)) return std::nullopt;
  return ordinal;
}

std::shared_ptr<DeviceBackend> open_backend(std::string_view name, const DeviceOptions& options) {
  if (ordinal_of(name, "cpu") == 0) {
    if (options.preallocate && !options.limit.resolve(GiB(1))) {
      throw InvalidArgument(
          "[Device::open] preallocating cpu:0 needs a limit: without one it would take all memory "
          "that is free");
    }
    return make_cpu_backend({.page_size = options.page_size, .populate = options.preallocate});
  }
  const auto ordinal = ordinal_of(name, "cuda");
  if (!ordinal) unknown_device(name);
  std::string why;
  CudaModule* cuda = cuda_module(&why);
  if (cuda == nullptr || *ordinal >= cuda->device_count()) unknown_device(name);
  return cuda->open(*ordinal);
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
    throw InvalidArgument(fmt::format("[Device::open] a limit of {} on {}, which has {} in all",
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
        "open it without that option to share it, move its limit with budget().set_limit(), or "
        "divide it with split()",
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
  const auto gpu = ordinal_of(name, "cuda");
  if (!gpu && ordinal_of(name, "cpu") != 0) unknown_device(name);
  bool fresh = false;
  const auto state =
      OpenDevices::instance().find(gpu ? fmt::format("cuda:{}", *gpu) : "cpu:0", [&] {
        fresh = true;
        return State::make(open_backend(name, options), options);
      });
  if (!fresh) {
    const DeviceInfo info = state->backend->info();
    if (options.limit.resolve(info.total)) resolve_limit(info, *state->backend, options.limit);
    require_same(*state, info, options);
  }
  return Device(state);
}

Device Device::State::open_apart(std::string_view name, const DeviceOptions& options) {
  return open(open_backend(name, options), options);
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
  state->baseline = backend->kind() == DeviceKind::cpu ? backend->process_used().value_or(0) : 0;
  state->ordinal = ordinal_of(info.name, "cuda").value_or(0);
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

std::vector<DeviceInfo> list_devices(std::string* why_no_cuda) {
  std::vector<DeviceInfo> devices = {cpu_info()};
  std::string why;
  try {
    if (CudaModule* cuda = cuda_module(&why)) {
      const int count = cuda->device_count();
      for (int ordinal = 0; ordinal < count; ++ordinal) devices.push_back(cuda->describe(ordinal));
    }
  } catch (const Error& error) {
    why = error.what();
  }
  if (why_no_cuda != nullptr) *why_no_cuda = why;
  return devices;
}

}  // namespace plimsoll
