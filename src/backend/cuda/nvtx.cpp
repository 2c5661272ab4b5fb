#include "backend/cuda/nvtx.h"

#include <string>

// Headers only: a profiler puts its own functions behind them when it starts the program.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define PLIMSOLL_NVTX 1
#else
#define PLIMSOLL_NVTX 0
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

}  // namespace plimsoll::cuda::nvtx
