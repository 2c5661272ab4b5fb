#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <plimsoll/base/error.h>
#include <plimsoll/device/backend.h>

#include "backend/cuda/driver/backend.h"
#include "backend/cuda/driver/driver.h"
#include "backend/cuda/kernels/kernels.h"

namespace plimsoll::cuda {
namespace {

class Module final : public CudaModule {
 public:
  explicit Module(const Driver& driver) : driver_(driver) {}

  int device_count() override {
    int count = 0;
    const CUresult result = driver_.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS) {
      throw DeviceError("[cuDeviceGetCount] " + driver_.describe(result));
    }
    return count;
  }

  const ops::KernelTable* kernels() override { return &cuda_kernels(); }

  DeviceInfo describe(int ordinal) override { return describe_device(driver_, ordinal); }

  /// A device that is open already is shared: it has one context, whose memory is there once.
  std::shared_ptr<DeviceBackend> open(int ordinal) override {
    if (ordinal < 0 || ordinal >= device_count()) {
      throw InvalidArgument("[Device::open] no device cuda:" + std::to_string(ordinal) +
                            "; there are " + std::to_string(device_count()));
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

}  // namespace
}  // namespace plimsoll::cuda

/// The one symbol that the core looks up; see kCudaModuleSymbol.
extern "C" __attribute__((visibility("default"))) plimsoll::CudaModule* plimsoll_cuda_module(
    std::string* why) {
  const plimsoll::cuda::Driver* driver = plimsoll::cuda::Driver::load(why);
  if (driver == nullptr) return nullptr;
  static plimsoll::cuda::Module module(*driver);
  return &module;
}
