#pragma once

#include <cstdint>

// Barriers in shared memory at which threads arrive and others wait, round after round; from
// compute capability 8.0 on.

namespace plimsoll::cuda {

/// Round n ends when `count` threads have arrived in it; then n + 1 begins. Who waits for a round
/// must do so before the one after it ends. What a thread did before it arrived has happened for
/// those who have waited for that round.
class RoundBarrier {
 public:
  /// By one thread, before a __syncthreads().
  __device__ __forceinline__ void begin(int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    [[maybe_unused]] std::uint64_t state = 0;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address()) : "memory");
  }
  /// By all of a warp.
  __device__ __forceinline__ void wait(int round) {
    while (!over(static_cast<unsigned>(round) & 1U)) {
    }
    __syncwarp();
  }

 private:
  __device__ __forceinline__ unsigned address() {
    return static_cast<unsigned>(__cvta_generic_to_shared(&word_));
  }
  /// Waits a while itself where the hardware can.
  __device__ __forceinline__ bool over(unsigned parity) {
    unsigned done = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(address()), "r"(parity)
        : "memory");
#else
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(address()), "r"(parity)
        : "memory");
#endif
    return done != 0;
  }

  std::uint64_t word_;
};

}  // namespace plimsoll::cuda
