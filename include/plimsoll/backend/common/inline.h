#pragma once

/// For functions of elements that every backend's kernels call: they become part of the loop they
/// stand in, for whatever instruction set that is compiled.
#ifdef __CUDACC__
#define PLIMSOLL_INLINE __host__ __device__ __forceinline__
#else
#define PLIMSOLL_INLINE inline __attribute__((always_inline))
#endif
