#include <algorithm>
#include <charconv>
#include <memory>
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
Bytes resolve_limit(const DeviceInfo& info, Bytes runtime, const Limit& wanted) {
  const auto limit = wanted.resolve(info.total);
  // `free` was read after opening took `runtime`, which the limit covers.
  if (!limit) return std::min(info.free.value() + runtime, info.total);
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

}  // namespace

Device Device::open(std::string_view name, const DeviceOptions& options) {
  return State::open(open_backend(name, options), options);
}

Device Device::State::open(const std::shared_ptr<DeviceBackend>& backend,
                           const DeviceOptions& options) {
  const DeviceInfo info = backend->info();
  const Bytes runtime = backend->runtime();
  const Bytes limit = resolve_limit(info, runtime, options.limit);
  if (runtime > limit) {
    throw BudgetTooSmall(fmt::format(
        "[Device::open] the driver's context on {} takes {} before the first tensor, and the limit "
        "is {}; give more than {}",
        info.name, format_bytes(runtime), format_bytes(limit), format_bytes(runtime)));
  }
  auto state = std::make_shared<State>(info.name, backend, nullptr, Budget::root(info.name, limit));
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
  return Device(std::move(state));
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
