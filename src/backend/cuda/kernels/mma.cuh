#pragma once

#include <cstdint>

#include "backend/cuda/kernels/dtype.cuh"

// Products of 16-bit matrices on tensor cores, by a warp, with sums in f32; from compute capability
// 8.0 on. In the names of PTX: A is 16x16, B 16x8, C 16x8. Lane l = 4 g + t has of C the elements
// (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1); the words of A and B are pairs placed likewise.

namespace plimsoll::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffU;

__device__ __forceinline__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// 16 bytes to shared memory, zeros where not `there`; done after wait_for_copies().
__device__ __forceinline__ void copy_async(unsigned to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Four matrices of 8x8; lane 8 i + r has the address of row r of matrix i.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at));
}
/// The same, each transposed.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at));
}

/// c += a b, with b's two words.
template <typename T>
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0,
                                             unsigned b1) {
  if constexpr (std::is_same_v<T, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Two elements of T in a word, the first in its low half.
template <typename T>
__device__ __forceinline__ unsigned pack(float first, float second) {
  unsigned word = 0;
  if constexpr (std::is_same_v<T, __half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

/// 2^x, with what is below the smallest normal number as zero.
__device__ __forceinline__ float power_of_two(float x) {
  float result = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

#endif

/// Among lanes 4 g to 4 g + 3: lane t gets as word i what lane i had as word t.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = (lane & static_cast<unsigned>(bit)) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & bit) != 0) continue;
      const unsigned got = __shfl_xor_sync(kWholeWarp, upper ? words[i] : words[i + bit], bit);
      if (upper) {
        words[i] = got;
      } else {
        words[i + bit] = got;
      }
    }
  }
}

}  // namespace plimsoll::cuda
