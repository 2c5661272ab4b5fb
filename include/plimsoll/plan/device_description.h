#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <plimsoll/base/bytes.h>
#include <plimsoll/base/dtype.h>
#include <plimsoll/device/device.h>

namespace plimsoll::plan {

/// What the planner knows of a device: enough to plan for one that is not there. Rates are what
/// kernels reach in practice, not the data sheet's peaks.
struct DeviceDescription {
  std::string name = "cpu";
  std::string backend = "cpu";                        ///< which of backends() it is of
  Capabilities capabilities = {.host_memory = true};  ///< that backend's
  Bytes memory = 0;                                   ///< in all
  double bytes_per_second = 0;                        ///< of its own memory, read and written
  double flops_f32 = 0;                               ///< floating-point operations per second
  double flops_16 = 0;                                ///< in f16 and bf16
  double flops_tf32 = 0;             ///< of f32 products in TF32; as f32 where there is none
  int processors = 1;                ///< a GPU's multiprocessors
  double launch_seconds = 0;         ///< what any op takes at least
  double host_bytes_per_second = 0;  ///< to and from pinned host memory, each way
  double measured_copy_rate = 0;     ///< the same as measured here; 0: it was not
  Bytes runtime = 0;                 ///< context, modules and handles
  /// Where `runtime` is from; unknown: it is an assumption, as the device was not opened.
  UsageSource usage = UsageSource::unknown;
  Bytes workspace = 0;       ///< the slot for a library's scratch, per stream
  Bytes page_size = MiB(2);  ///< memory is taken in multiples of it

  /// Of products in `dtype`; `tf32`: where f32 may be TF32.
  double flops(DType dtype, bool tf32 = false) const {
    if (dtype == DType::f16 || dtype == DType::bf16) return flops_16;
    return tf32 && dtype == DType::f32 && flops_tf32 > 0 ? flops_tf32 : flops_f32;
  }
};

/// A device by name: "cpu" (this machine's), "h200", "h100", "a100", "rtx4090", "t4" ..., or a JSON
/// file with the fields above by their names. Throws InvalidArgument naming what is wrong and what
/// there is.
DeviceDescription describe_device(std::string_view name_or_file);
/// A device that was opened.
DeviceDescription describe_device(const Device& device);
/// Bytes per second that copies between the device and pinned memory of `host` reach, both ways at
/// once: each way. Takes 64 MiB on either side for a few milliseconds; nullopt where they cannot be
/// had. Throws DeviceError.
std::optional<double> measure_copy_rate(const Device& device, const Device& host);
/// The line that belongs beside `runtime` where it was not counted for this process: it is a margin
/// that is assumed, or free memory told. Empty if it was, or there is none.
std::string runtime_note(const DeviceDescription& device);
/// The one of known_devices() that a driver means by "NVIDIA GeForce RTX 4090"; empty if it is
/// none.
std::string known_device(std::string_view description);
/// The names that describe_device knows.
std::vector<std::string> known_devices();

}  // namespace plimsoll::plan
