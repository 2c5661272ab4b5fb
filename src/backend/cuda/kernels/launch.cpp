#include "backend/cuda/kernels/launch.h"

#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::cuda {

void check(cudaError_t result, const char* who) {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();  // it has been told
  throw DeviceError("[" + std::string(who) + "] " + cudaGetErrorName(result) + ": " +
                    cudaGetErrorString(result));
}

}  // namespace plimsoll::cuda
