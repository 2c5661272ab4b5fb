#pragma once

// CUDA's kernels on the host, for what emulate.py makes of their sources: included before them. One
// thread runs at a time, each with a stack of its own where its block has barriers. What a GPU
// would not forgive ends the program: barriers that not all threads of a block come to, lanes of a
// mask that are elsewhere, grids that are too large.

#include <math.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#define __noinline__

namespace emulation {

struct Place {
  uint3 thread;
  uint3 block;
  dim3 block_dim;
  dim3 grid_dim;
};
/// Of the thread that runs.
extern Place here;

/// In which order the threads of a block take turns. Results must not depend on it.
enum class Order { forwards, backwards, random };
extern Order order;

void run(const std::function<void()>& body, dim3 grid, dim3 block, std::size_t shared);
template <typename Body>
void launch(const Body& body, dim3 grid, dim3 block, std::size_t shared = 0,
            cudaStream_t /*stream*/ = nullptr) {
  run(body, grid, block, shared);
}

/// Fills it with ones if no thread of this block has seen it.
void see_shared(void* at, std::size_t bytes);
void* dynamic_shared();
void sync_block(const char* file, int line);
/// Gives `mine` to the other lanes and takes what lane `from` gives.
void exchange(unsigned mask, const void* mine, void* theirs, std::size_t bytes, int from);
unsigned ballot(unsigned mask, bool value);
int lane();

template <typename T>
T of_lane(unsigned mask, const T& mine, int from) {
  T theirs;
  exchange(mask, &mine, &theirs, sizeof(T), from);
  return theirs;
}
template <typename To, typename From>
To as_bits(From value) {
  To to;
  static_assert(sizeof(to) == sizeof(value));
  std::memcpy(&to, &value, sizeof(to));
  return to;
}
/// Rounded towards zero.
template <typename T>
float to_float(T value) {
  const auto near = static_cast<float>(value);
  const bool beyond =
      std::fabs(static_cast<long double>(near)) > std::fabs(static_cast<long double>(value));
  return beyond ? std::nextafter(near, 0.0F) : near;
}

}  // namespace emulation

#define threadIdx (::emulation::here.thread)
#define blockIdx (::emulation::here.block)
#define blockDim (::emulation::here.block_dim)
#define gridDim (::emulation::here.grid_dim)
#define __syncthreads() ::emulation::sync_block(__FILE__, __LINE__)

// NOLINTBEGIN: the names are CUDA's.
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int apart) {
  return emulation::of_lane(mask, value, emulation::lane() ^ apart);
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  return emulation::of_lane(mask, value, emulation::lane() / width * width + from % width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, int apart, int width = 32) {
  const int own = emulation::lane();
  return emulation::of_lane(mask, value, own % width < apart ? own : own - apart);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, int apart, int width = 32) {
  const int own = emulation::lane();
  return emulation::of_lane(mask, value, own % width + apart < width ? own + apart : own);
}
inline void __syncwarp(unsigned mask = 0xffffffffU) { (void)emulation::ballot(mask, true); }
inline unsigned __ballot_sync(unsigned mask, bool value) { return emulation::ballot(mask, value); }
inline int __any_sync(unsigned mask, bool value) { return emulation::ballot(mask, value) != 0; }
inline int __all_sync(unsigned mask, bool value) { return emulation::ballot(mask, !value) == 0; }

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __expf(float a) { return std::exp(a); }
inline float __logf(float a) { return std::log(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrt(float a) { return 1 / std::sqrt(a); }
inline double rsqrt(double a) { return 1 / std::sqrt(a); }
inline std::uint32_t __float_as_uint(float a) { return emulation::as_bits<std::uint32_t>(a); }
inline float __uint_as_float(std::uint32_t a) { return emulation::as_bits<float>(a); }
inline int __float_as_int(float a) { return emulation::as_bits<int>(a); }
inline float __int_as_float(int a) { return emulation::as_bits<float>(a); }
inline long long __double_as_longlong(double a) { return emulation::as_bits<long long>(a); }
inline double __longlong_as_double(long long a) { return emulation::as_bits<double>(a); }
inline int __popc(unsigned a) { return __builtin_popcount(a); }
inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz(static_cast<unsigned>(a)); }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline float __double2float_rz(double a) { return emulation::to_float(a); }
inline float __ll2float_rz(long long a) { return emulation::to_float(a); }
inline float __int2float_rz(int a) { return emulation::to_float(a); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
template <typename A, typename B>
std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <typename A, typename B>
std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}
// NOLINTEND
