#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#if PLIMSOLL_HAS_CUDNN
#include <cudnn.h>
#endif

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <plimsoll/device/choice_table.h>

#include "backend/cuda/driver/context.h"
#include "backend/cuda/libraries/side_stream.h"

namespace plimsoll::cuda {

/// The mathematical libraries' handles of one device, made once when it is opened and shared by all
/// who use it. Thread-safe.
class Libraries {
 public:
  /// Makes them, for Libraries::current to find. Throws DeviceError.
  static std::shared_ptr<Libraries> open(std::shared_ptr<Context> context);
  /// Those of the calling thread's current device. DeviceError if that is not open.
  static std::shared_ptr<Libraries> current();

  explicit Libraries(std::shared_ptr<Context> context);
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;
  ~Libraries();

  cublasLtHandle_t blas() const { return blas_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  /// Which algorithms and plans they chose, and are to choose again.
  ChoiceTable& choices() { return choices_; }

  /// Has each library do something small on `bytes` of the device's memory at `memory`, so that
  /// what they load at first use is there. Returns when it is done.
  void touch(void* memory, Bytes bytes, cudaStream_t stream);

  /// The stream beside `stream`, made at the first call. Null for a thread's own stream and the
  /// driver's default one, which are one name for several.
  SideStream* beside(cudaStream_t stream);

  /// Whether this is the first call with `what`: for what is worth a word, but only one.
  bool is_first(const std::string& what);

#if PLIMSOLL_HAS_CUDNN
  /// A plan of cuDNN's, prepared once for a signature and a device. Goes with the handle, since
  /// what it has loaded belongs to the device's context.
  struct Plan {
    virtual ~Plan() = default;
    Bytes workspace = 0;
  };
  using MakePlan = std::function<std::shared_ptr<const Plan>(cudnnHandle_t)>;
  /// The plan of that name; made if it is not there yet. Null where `make` found that there is
  /// none.
  std::shared_ptr<const Plan> plan(const std::string& key, const MakePlan& make);

  /// `body(handle)` with the one handle, which works on `stream` meanwhile.
  void with_cudnn(cudaStream_t stream, const std::function<void(cudnnHandle_t)>& body);
#endif

 private:
  void destroy() noexcept;

  const std::shared_ptr<Context> context_;
  ChoiceTable choices_;
  cublasLtHandle_t blas_ = nullptr;
  std::mutex mutex_;  ///< of what follows: a handle has one stream at a time
  std::unordered_set<std::string> said_;
  std::unordered_map<cudaStream_t, std::unique_ptr<SideStream>> beside_;
#if PLIMSOLL_HAS_CUDNN
  cudnnHandle_t cudnn_ = nullptr;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
  std::uint64_t plans_of_ = 0;  ///< the generation of the choices that they were made with
#endif
};

/// "cuBLASLt 13.1.0, cuDNN 9.14.0, NVRTC 13.0"; says so where the build had no cuDNN, or where
/// there is no NVRTC of the build's version. Needs no device.
std::string library_versions();

/// Throws DeviceError: "[matmul] CUBLAS_STATUS_NOT_SUPPORTED: ...".
void check(cublasStatus_t result, const char* who);
#if PLIMSOLL_HAS_CUDNN
void check(cudnnStatus_t result, const char* who);
#endif

}  // namespace plimsoll::cuda
