#include <plimsoll/device/default_device.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "device/device_state.h"

namespace plimsoll {
namespace {

struct Process {
  std::mutex mutex;
  std::optional<Device> device;
};

/// Never destroyed: tensors with static storage may outlive everything else.
Process& process() {
  static auto* const the = new Process;  // NOLINT: see above
  return *the;
}

std::optional<Device>& of_thread() {
  thread_local std::optional<Device> device;
  return device;
}

}  // namespace

DefaultDevice::DefaultDevice(const Device& device)
    : before_(std::exchange(of_thread(), std::optional(device))) {}
DefaultDevice::~DefaultDevice() { of_thread() = std::move(before_); }

Device DefaultDevice::get() {
  if (of_thread()) return *of_thread();
  Process& of = process();
  const std::lock_guard lock(of.mutex);
  if (!of.device) of.device = host();
  return *of.device;
}

Device DefaultDevice::host() {
  const char* budget = std::getenv("PLIMSOLL_BUDGET");
  DeviceOptions options;
  if (budget != nullptr) options.limit = Limit::parse(budget, "PLIMSOLL_BUDGET");
  return Device::State::open_default("cpu:0", options);
}

void DefaultDevice::set(const Device& device) {
  Process& of = process();
  const std::lock_guard lock(of.mutex);
  of.device = device;
}

void DefaultDevice::reset() {
  Process& of = process();
  const std::lock_guard lock(of.mutex);
  of.device.reset();
}

}  // namespace plimsoll
