// The library's one entry: NVIDIA's GPUs as a backend.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <plimsoll/backend/common/cuda.h>
#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>

#include "backend/cuda/driver/backend.h"
#include "backend/cuda/driver/driver.h"

namespace plimsoll::cuda {
namespace {

class Gpus {
 public:
  explicit Gpus(const Driver& driver) : driver_(driver) {}

  int count() const {
    int count = 0;
    const CUresult result = driver_.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS) {
      throw DeviceError("[cuDeviceGetCount] " + driver_.describe(result));
    }
    return count;
  }

  DeviceInfo describe(int ordinal) const { return describe_device(driver_, ordinal); }

  /// A device that is open already is shared: it has one context, whose memory is there once.
  std::shared_ptr<DeviceBackend> open(int ordinal) {
    if (ordinal < 0 || ordinal >= count()) {
      throw InvalidArgument("[Device::open] no device cuda:" + std::to_string(ordinal) +
                            "; there are " + std::to_string(count()));
    }
    const auto index = static_cast<std::size_t>(ordinal);
    const std::lock_guard lock(mutex_);
    if (opened_.size() <= index) opened_.resize(index + 1);
    std::shared_ptr<DeviceBackend> backend = opened_[index].lock();
    if (!backend) {
      backend = open_backend(driver_, ordinal);
      opened_[index] = backend;
    }
    return backend;
  }

 private:
  const Driver& driver_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<DeviceBackend>> opened_;
};

Backend backend_of(Gpus& gpus) {
  return {.name = "cuda",
          .title = "CUDA",
          .capabilities = kCudaCapabilities,
          .count =
              [&gpus](std::string& why) {
                const int count = gpus.count();
                if (count == 0) why = "the driver has no GPU";
                return count;
              },
          .describe = [&gpus](int ordinal) { return gpus.describe(ordinal); },
          .open = [&gpus](int ordinal, const DeviceOptions&) { return gpus.open(ordinal); }};
}

}  // namespace
}  // namespace plimsoll::cuda

/// The one symbol that the core looks up; see kBackendSymbol.
extern "C" __attribute__((visibility("default"))) const plimsoll::Backend* plimsoll_backend(
    std::string& why) {
  using namespace plimsoll::cuda;
  const Driver* driver = Driver::load(&why);
  if (driver == nullptr) return nullptr;
  static Gpus gpus(*driver);
  static const plimsoll::Backend backend = backend_of(gpus);
  return &backend;
}
