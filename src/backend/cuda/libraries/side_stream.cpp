#include "backend/cuda/libraries/side_stream.h"

#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {

SideStream::SideStream() {
  // The thread may be recording another stream, which this does not concern.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode), "cudaThreadExchangeStreamCaptureMode");
  cudaError_t made = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  for (cudaEvent_t* event : {&forked_, &joined_}) {
    if (made == cudaSuccess) made = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
  }
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  if (made == cudaSuccess) return;
  destroy();
  check(made, "cudaStreamCreate");
}

SideStream::~SideStream() { destroy(); }

void SideStream::destroy() noexcept {
  for (cudaEvent_t event : {forked_, joined_}) {
    if (event != nullptr) (void)cudaEventDestroy(event);
  }
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

SideStream::Fork::Fork(SideStream* side, cudaStream_t main) : side_(side), main_(main) {
  if (side_ == nullptr) return;
  check(cudaEventRecord(side_->forked_, main_), "cudaEventRecord");
  check(cudaStreamWaitEvent(side_->stream_, side_->forked_, 0), "cudaStreamWaitEvent");
}

SideStream::Fork::~Fork() {
  if (side_ == nullptr || joined_) return;
  // An exception is on its way: what was submitted still ends before `main` goes on.
  if (cudaEventRecord(side_->joined_, side_->stream_) == cudaSuccess) {
    (void)cudaStreamWaitEvent(main_, side_->joined_, 0);
  }
}

void SideStream::Fork::join() {
  if (side_ == nullptr || joined_) return;
  check(cudaEventRecord(side_->joined_, side_->stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(main_, side_->joined_, 0), "cudaStreamWaitEvent");
  joined_ = true;
}

}  // namespace plimsoll::cuda
