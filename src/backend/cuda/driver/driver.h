#pragma once

#include <cuda.h>

#include <string>

namespace plimsoll::cuda {

// Every call of the driver that is used. cuda.h renames some of them to the version it declares
// (cuMemGetInfo to cuMemGetInfo_v2); the table follows it, in the type as in the symbol.
#define PLIMSOLL_CUDA_DRIVER_CALLS(X) \
  X(cuInit)                           \
  X(cuGetErrorName)                   \
  X(cuGetErrorString)                 \
  X(cuDeviceGetCount)                 \
  X(cuDeviceGet)                      \
  X(cuDeviceGetName)                  \
  X(cuDeviceGetAttribute)             \
  X(cuDeviceGetPCIBusId)              \
  X(cuDeviceTotalMem)                 \
  X(cuDevicePrimaryCtxRetain)         \
  X(cuDevicePrimaryCtxRelease)        \
  X(cuCtxGetCurrent)                  \
  X(cuCtxPushCurrent)                 \
  X(cuCtxPopCurrent)                  \
  X(cuCtxSynchronize)                 \
  X(cuMemGetInfo)                     \
  X(cuMemGetAllocationGranularity)    \
  X(cuMemAddressReserve)              \
  X(cuMemAddressFree)                 \
  X(cuMemCreate)                      \
  X(cuMemRelease)                     \
  X(cuMemMap)                         \
  X(cuMemUnmap)                       \
  X(cuMemSetAccess)                   \
  X(cuMemHostRegister)                \
  X(cuMemHostUnregister)              \
  X(cuMemcpyAsync)                    \
  X(cuMemsetD8Async)                  \
  X(cuStreamCreate)                   \
  X(cuStreamDestroy)                  \
  X(cuStreamSynchronize)              \
  X(cuEventCreate)                    \
  X(cuEventDestroy)                   \
  X(cuEventRecord)                    \
  X(cuEventQuery)                     \
  X(cuEventSynchronize)               \
  X(cuEventElapsedTime)               \
  X(cuStreamWaitEvent)                \
  X(cuStreamBeginCapture)             \
  X(cuStreamEndCapture)               \
  X(cuGraphInstantiateWithFlags)      \
  X(cuGraphGetNodes)                  \
  X(cuGraphUpload)                    \
  X(cuGraphLaunch)                    \
  X(cuGraphDestroy)                   \
  X(cuGraphExecDestroy)               \
  X(cuModuleLoadData)                 \
  X(cuModuleUnload)                   \
  X(cuModuleGetFunction)              \
  X(cuFuncGetAttribute)               \
  X(cuLaunchKernel)

/// The driver's calls, looked up at run time so that nothing links against libcuda: the same
/// binary runs where there is no driver.
struct Driver {
#define PLIMSOLL_DECLARE(call) decltype(&::call) call = nullptr;  // NOLINT: a name, not a value
  PLIMSOLL_CUDA_DRIVER_CALLS(PLIMSOLL_DECLARE)
#undef PLIMSOLL_DECLARE

  /// The loaded and initialised driver, at the first call or from it; null where there is none or
  /// no device, and `why` says so. Lives as long as the program. Thread-safe.
  static const Driver* load(std::string* why);

  /// "CUDA_ERROR_INVALID_VALUE: invalid argument".
  std::string describe(CUresult result) const;
};

}  // namespace plimsoll::cuda
