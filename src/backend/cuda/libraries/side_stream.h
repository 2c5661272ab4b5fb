#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

/// A stream beside another one, for parts of an op that need not wait for each other: kernels that
/// fill a part of the device only, and share it then. Belongs to the thread that submits the other
/// stream's work.
class SideStream {
 public:
  /// On the current device. Throws DeviceError.
  SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream();

  /// While it lives, what is submitted to stream() runs after what `main` had before and before
  /// what `main` gets afterwards; also while `main` is recorded.
  class Fork {
   public:
    /// `side` may be null: stream() is then `main` itself.
    Fork(SideStream* side, cudaStream_t main);
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    ~Fork();

    cudaStream_t stream() const { return side_ != nullptr ? side_->stream_ : main_; }
    /// Throws DeviceError where the destructor, which joins as well, could not.
    void join();

   private:
    SideStream* side_;
    cudaStream_t main_;
    bool joined_ = false;
  };

 private:
  void destroy() noexcept;

  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t joined_ = nullptr;
};

}  // namespace plimsoll::cuda
