#pragma once

#include <optional>

#include <plimsoll/device/device.h>

namespace plimsoll {

/// The device that is meant where none is named.
///
///   pm::DefaultDevice::set(pm::Device::open("cuda:0", {.limit = pm::GiB(8)}));   // the process's
///   {
///     const pm::DefaultDevice here(cpu);   // of this thread, until the end of the scope
///     pm::Tensor x = pm::zeros({2, 3});
///   }
///
/// The first use of one that nobody has set opens cpu:0, within PLIMSOLL_BUDGET ("8GiB", "50%") or
/// what is free; the first Device::open() that states a limit for it then moves its limit.
/// Thread-safe.
class DefaultDevice {
 public:
  explicit DefaultDevice(const Device& device);
  DefaultDevice(const DefaultDevice&) = delete;
  DefaultDevice& operator=(const DefaultDevice&) = delete;
  ~DefaultDevice();

  /// The innermost scope's of this thread, else the process's. Throws InvalidArgument for a
  /// PLIMSOLL_BUDGET that cannot be read as a limit.
  static Device get();
  /// cpu:0 for whoever needs the host's memory and named no device: opened as get() does where
  /// nobody has opened it.
  static Device host();
  /// From now on the process's.
  static void set(const Device& device);
  /// Forgets the process's: it is opened anew when it is needed.
  static void reset();

 private:
  std::optional<Device> before_;
};

}  // namespace plimsoll
