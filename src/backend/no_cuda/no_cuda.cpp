#include <plimsoll/device/backend.h>

namespace plimsoll {

CudaModule* cuda_module(std::string* why) {
  if (why != nullptr) {
    *why = "built without CUDA: configure with -DPLIMSOLL_CUDA=ON where a toolkit is installed";
  }
  return nullptr;
}

}  // namespace plimsoll
