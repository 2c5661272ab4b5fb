#include "backend/cuda/driver/nvtx.h"

#include <string>

// Headers only: a profiler puts its own functions behind them when it starts the program.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define PLIMSOLL_NVTX 1
#else
#define PLIMSOLL_NVTX 0
#endif
#if __has_include(<nvtx3/nvToolsExtMemCudaRt.h>)
#include <nvtx3/nvToolsExtMemCudaRt.h>
#define PLIMSOLL_NVTX_MEMORY 1
#else
#define PLIMSOLL_NVTX_MEMORY 0
#endif

namespace plimsoll::cuda::nvtx {

#if PLIMSOLL_NVTX
namespace {

/// Null where no profiler is attached.
nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("plimsoll");
  return handle;
}

}  // namespace

void push(std::string_view name) {
  if (domain() == nullptr) return;
  const std::string text(name);
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = text.c_str();
  (void)nvtxDomainRangePushEx(domain(), &range);
}
void pop() noexcept {
  if (domain() != nullptr) (void)nvtxDomainRangePop(domain());
}
#else
void push(std::string_view) {}
void pop() noexcept {}
#endif

#if PLIMSOLL_NVTX && PLIMSOLL_NVTX_MEMORY
void written(void* at, std::size_t bytes, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) return;
  if (status != cudaStreamCaptureStatusNone) return;
  nvtxMemVirtualRangeDesc_t range{};
  range.size = bytes;
  range.ptr = at;
  nvtxMemMarkInitializedBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof(batch);
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 1;
  batch.regionDescElementSize = sizeof(range);
  batch.regionDescElements = &range;
  nvtxMemCudaMarkInitialized(domain(), stream, 0, &batch);
}
#else
void written(void*, std::size_t, cudaStream_t) {}
#endif

}  // namespace plimsoll::cuda::nvtx
