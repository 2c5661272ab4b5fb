// CUDA where it was not built: a backend without devices, which says why. What its devices can do
// is known all the same, for plans.
#include <plimsoll/device/backend.h>

#include <plimsoll/backend/common/cuda.h>
#include <plimsoll/base/error.h>

namespace plimsoll {
namespace {

constexpr const char* kWhy =
    "built without CUDA: configure with -DPLIMSOLL_CUDA=ON where a toolkit is installed";

const RegisterBackend kRegistered(
    {.name = "cuda",
     .title = "CUDA",
     .capabilities = kCudaCapabilities,
     .count =
         [](std::string& why) {
           why = kWhy;
           return 0;
         },
     .describe = [](int) -> DeviceInfo { throw DeviceError(kWhy); },
     .open = [](int, const DeviceOptions&) -> std::shared_ptr<DeviceBackend> {
       throw DeviceError(kWhy);
     }});

}  // namespace
}  // namespace plimsoll
