#include "backend/cuda/driver/context.h"

#include <plimsoll/base/error.h>
#include <plimsoll/memory/page_source.h>

namespace plimsoll::cuda {

Context::Context(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {
  check(driver_.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
  check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

Context::~Context() { (void)driver_.cuDevicePrimaryCtxRelease(device_); }

void Context::push() const { check(driver_.cuCtxPushCurrent(context_), "cuCtxPushCurrent"); }

void Context::pop() const noexcept {
  CUcontext before = nullptr;
  (void)driver_.cuCtxPopCurrent(&before);
}

Context::Scope::Scope(const Context& context) : driver_(context.driver_) {
  CUcontext current = nullptr;
  context.check(driver_.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == context.context_) return;
  context.check(driver_.cuCtxPushCurrent(context.context_), "cuCtxPushCurrent");
  pushed_ = true;
}

Context::Scope::~Scope() {
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent(&popped);
}

bool Context::gone() const {
  CUcontext current = nullptr;
  return driver_.cuCtxGetCurrent(&current) == CUDA_ERROR_DEINITIALIZED;
}

void Context::fail(CUresult result, const char* call) const {
  throw DeviceError("[" + std::string(call) + "] " + name() + ": " + driver_.describe(result));
}

void Context::fail_pages(CUresult result, const char* call, Bytes bytes) const {
  if (result != CUDA_ERROR_OUT_OF_MEMORY) fail(result, call);
  throw OutOfPages("[" + std::string(call) + "] " + name() + ": the driver has no memory for " +
                   format_bytes(bytes));
}

}  // namespace plimsoll::cuda
