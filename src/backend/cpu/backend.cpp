// The CPU as a backend: it is always there, and has one device.
#include <plimsoll/device/backend.h>

#include <plimsoll/base/error.h>
#include <plimsoll/tensor/dlpack.h>

#include "backend/cpu/cpu_device.h"

namespace plimsoll::cpu {
namespace {

std::shared_ptr<DeviceBackend> open(int, const DeviceOptions& options) {
  if (options.preallocate && !options.limit.resolve(GiB(1))) {
    throw InvalidArgument(
        "[Device::open] preallocating cpu:0 needs a limit: without one it would take all memory "
        "that is free");
  }
  return open_cpu({.page_size = options.page_size, .populate = options.preallocate});
}

const RegisterBackend kRegistered({.name = "cpu",
                                   .title = "the CPU",
                                   .capabilities = {.host_memory = true,
                                                    .dlpack_type = dlpack::kDLCPU},
                                   .count = [](std::string&) { return 1; },
                                   .describe = [](int) { return cpu_info(); },
                                   .open = open});

}  // namespace
}  // namespace plimsoll::cpu
