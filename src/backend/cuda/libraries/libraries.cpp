#include "backend/cuda/libraries/libraries.h"

#include <utility>
#include <vector>

#include <plimsoll/base/error.h>

#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/libraries/gemm.h"
#include "backend/cuda/programs/programs.h"

namespace plimsoll::cuda {
namespace {

/// Who is open, by ordinal.
struct Opened {
  std::mutex mutex;
  std::vector<std::weak_ptr<Libraries>> list;
};
Opened& opened() {
  static Opened table;
  return table;
}

/// 130100: "13.1.0"
std::string dotted(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Those that choose algorithms: "cuBLASLt 13.1.0, cuDNN 9.14.0".
std::string choosing_versions() {
  std::string text = "cuBLASLt " + dotted(cublasLtGetVersion());
#if PLIMSOLL_HAS_CUDNN
  text += ", cuDNN " + dotted(cudnnGetVersion());
#endif
  return text;
}

}  // namespace

std::string library_versions() {
  std::string text = choosing_versions();
  std::string why;
  const Nvrtc* nvrtc = build_nvrtc(&why);
  const std::string compiler = nvrtc != nullptr
                                   ? "NVRTC " + nvrtc->version()
                                   : "no NVRTC (" + why + "): chains of pointwise ops run op by op";
#if PLIMSOLL_HAS_CUDNN
  text += ", " + compiler;
#else
  text += ", " + compiler +
          ", built without cuDNN: convolutions and attention to more than 256 tokens are slow";
#endif
  return text;
}

void check(cublasStatus_t result, const char* who) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("[" + std::string(who) + "] " + cublasLtGetStatusName(result) + ": " +
                    cublasLtGetStatusString(result));
}

#if PLIMSOLL_HAS_CUDNN
void check(cudnnStatus_t result, const char* who) {
  if (result == CUDNN_STATUS_SUCCESS) return;
  throw DeviceError("[" + std::string(who) + "] cuDNN: " + cudnnGetErrorString(result));
}
#endif

std::shared_ptr<Libraries> Libraries::open(std::shared_ptr<Context> context) {
  const auto ordinal = static_cast<std::size_t>(context->ordinal());
  auto libraries = std::make_shared<Libraries>(std::move(context));
  Opened& table = opened();
  const std::lock_guard lock(table.mutex);
  if (table.list.size() <= ordinal) table.list.resize(ordinal + 1);
  table.list[ordinal] = libraries;
  return libraries;
}

std::shared_ptr<Libraries> Libraries::current() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  Opened& table = opened();
  const std::lock_guard lock(table.mutex);
  const auto index = static_cast<std::size_t>(ordinal);
  std::shared_ptr<Libraries> found =
      index < table.list.size() ? table.list[index].lock() : std::shared_ptr<Libraries>();
  if (found == nullptr) {
    throw DeviceError("[cuda] cuda:" + std::to_string(ordinal) + " is not open");
  }
  return found;
}

Libraries::Libraries(std::shared_ptr<Context> context)
    : context_(std::move(context)), choices_(choosing_versions()) {
  const Context::Scope scope(*context_);
  check(cublasLtCreate(&blas_), "cublasLtCreate");
#if PLIMSOLL_HAS_CUDNN
  try {
    check(cudnnCreate(&cudnn_), "cudnnCreate");
  } catch (...) {
    destroy();
    throw;
  }
#endif
}

Libraries::~Libraries() {
  // As the process ends there may be no driver left to give anything back to.
  if (context_->gone()) return;
  try {
    const Context::Scope scope(*context_);
    destroy();
  } catch (const Error&) {  // a device that has failed takes its handles along
  }
}

void Libraries::destroy() noexcept {
  beside_.clear();
#if PLIMSOLL_HAS_CUDNN
  plans_.clear();
  if (cudnn_ != nullptr) (void)cudnnDestroy(cudnn_);
#endif
  if (blas_ != nullptr) (void)cublasLtDestroy(blas_);
}

void Libraries::touch(void* memory, Bytes bytes, cudaStream_t stream) {
  constexpr std::int64_t kSize = 64;
  constexpr Bytes kMatrix = kSize * kSize * sizeof(float);
  auto* at = static_cast<std::byte*>(memory);
  check(cudaMemsetAsync(memory, 0, bytes, stream), "Device::open");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const GemmOperand matrix{.dtype = dtype, .stride = kSize};
    const Gemm gemm(blas_,
                    {.m = kSize, .n = kSize, .k = kSize, .a = matrix, .b = matrix, .c = matrix},
                    bytes - 3 * kMatrix);
    gemm.run(blas_, stream, at, at + kMatrix, at + 2 * kMatrix, nullptr, at + 3 * kMatrix);
  }
#if PLIMSOLL_HAS_CUDNN
  with_cudnn(stream, [&](cudnnHandle_t handle) {
    cudnnTensorDescriptor_t tensor = nullptr;
    check(cudnnCreateTensorDescriptor(&tensor), "Device::open");
    const float zero = 0;
    cudnnStatus_t status =
        cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, kSize, kSize);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetTensor(handle, tensor, memory, &zero);
    (void)cudnnDestroyTensorDescriptor(tensor);
    check(status, "Device::open");
  });
#endif
  check(cudaStreamSynchronize(stream), "Device::open");
}

SideStream* Libraries::beside(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  std::unique_ptr<SideStream>& side = beside_[stream];
  if (side == nullptr) side = std::make_unique<SideStream>();
  return side.get();
}

bool Libraries::is_first(const std::string& what) {
  const std::lock_guard lock(mutex_);
  return said_.insert(what).second;
}

#if PLIMSOLL_HAS_CUDNN
std::shared_ptr<const Libraries::Plan> Libraries::plan(const std::string& key,
                                                       const MakePlan& make) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t generation = choices_.generation();
  if (std::exchange(plans_of_, generation) != generation) plans_.clear();
  choices_.asked(key);
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  return plans_.emplace(key, make(cudnn_)).first->second;
}

void Libraries::with_cudnn(cudaStream_t stream, const std::function<void(cudnnHandle_t)>& body) {
  const std::lock_guard lock(mutex_);
  check(cudnnSetStream(cudnn_, stream), "cudnnSetStream");
  body(cudnn_);
}
#endif

}  // namespace plimsoll::cuda
