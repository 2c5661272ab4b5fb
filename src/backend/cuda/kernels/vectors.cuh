#pragma once

#include "backend/cuda/kernels/dtype.cuh"

// What a thread does to a few vectors that it holds.

namespace plimsoll::cuda {

/// narrow() of all of them, by pairs where there is an instruction for that.
template <typename T, int N>
__device__ __forceinline__ Vec<T, N> narrow_all(const Acc<T> (&from)[N]) {
  Vec<T, N> vec;
  if constexpr (is_narrow_v<T> && N % 2 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      if constexpr (std::is_same_v<T, __half>) {
        const __half2 pair = __floats2half2_rn(from[i], from[i + 1]);
        vec.lane[i] = pair.x;
        vec.lane[i + 1] = pair.y;
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(from[i], from[i + 1]);
        vec.lane[i] = pair.x;
        vec.lane[i + 1] = pair.y;
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) vec.lane[i] = narrow<T>(from[i]);
  }
  return vec;
}

/// Makes the compiler forget what it knows of `vectors`: it keeps them, and no widened copies.
template <typename T, int V, int N>
__device__ __forceinline__ void as_they_are(Vec<T, V> (&vectors)[N]) {
  if constexpr (is_narrow_v<T>) {
    static_assert(sizeof(T) * V == sizeof(uint4));
#pragma unroll
    for (int n = 0; n < N; ++n) {
      uint4 word;
      __builtin_memcpy(&word, &vectors[n], sizeof(word));
      asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
      __builtin_memcpy(&vectors[n], &word, sizeof(word));
    }
  }
}

}  // namespace plimsoll::cuda
