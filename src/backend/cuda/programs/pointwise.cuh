#pragma once

#include "backend/cuda/kernels/element.cuh"

// What generated kernels of pointwise ops are written in; compiled by NVRTC alone. Elements are as
// in kernels/dtype.cuh, whose 16-bit floats come from headers of the toolkit that may not be there
// at run time: the conversions are the same instructions.

namespace plimsoll::cuda::rtc {

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};
using f64 = double;
using f32 = float;
using i64 = std::int64_t;
using i32 = std::int32_t;
using i16 = std::int16_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using u8 = std::uint8_t;
using boolean = bool;

template <typename T>
inline constexpr bool kNarrow = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
/// In what values of T are computed.
template <typename T>
using Acc = std::conditional_t<kNarrow<T>, float, T>;

template <typename T>
__device__ __forceinline__ Acc<T> widen(T value) {
  if constexpr (std::is_same_v<T, f16>) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
  } else {
    return value;
  }
}
/// Rounds to the nearest, ties to even; NaN stays NaN.
template <typename T>
__device__ __forceinline__ T narrow(Acc<T> value) {
  if constexpr (std::is_same_v<T, f16>) {
    T result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  } else if constexpr (std::is_same_v<T, bf16>) {
    T result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  } else {
    return value;
  }
}

inline constexpr unsigned kThreads = 256;

template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};

/// V elements side by side, moved as one word; `at` is aligned to it.
template <int V, typename T>
__device__ __forceinline__ void load(const T* at, T* to) {
  using Word = typename WordOf<static_cast<int>(sizeof(T)) * V>::Type;
  const Word word = *reinterpret_cast<const Word*>(at);
  memcpy(to, &word, sizeof(word));
}
template <int V, typename T>
__device__ __forceinline__ void store(T* at, const T* from) {
  using Word = typename WordOf<static_cast<int>(sizeof(T)) * V>::Type;
  Word word;
  memcpy(&word, from, sizeof(word));
  *reinterpret_cast<Word*>(at) = word;
}

/// The elements of a thread: U units of V side by side, kThreads * V apart. A block's are whole,
/// unless `count` ends in it.
template <int V, int U>
struct Tile {
  static constexpr int kElements = V * U;
  static constexpr i64 kBlock = static_cast<i64>(kThreads) * V * U;

  i64 count;
  i64 first = static_cast<i64>(blockIdx.x) * kBlock + static_cast<i64>(threadIdx.x) * V;
  bool whole = (static_cast<i64>(blockIdx.x) + 1) * kBlock <= count;

  __device__ __forceinline__ i64 unit(int u) const {
    return first + static_cast<i64>(u) * kThreads * V;
  }

  template <typename T>
  __device__ __forceinline__ void read(const T* from, T (&x)[V * U]) const {
    if (whole) {
#pragma unroll
      for (int u = 0; u < U; ++u) load<V>(from + unit(u), &x[u * V]);
    } else {
#pragma unroll
      for (int i = 0; i < V * U; ++i) {
        const i64 at = unit(i / V) + i % V;
        x[i] = at < count ? from[at] : T{};
      }
    }
  }
  /// Element i % inner. V divides inner, and inner the count, which is below 2^32.
  template <typename T>
  __device__ __forceinline__ void read_rows(const T* from, unsigned inner, T (&x)[V * U]) const {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const i64 at = unit(u);
      load<V>(from + (at < count ? static_cast<unsigned>(at) % inner : 0U), &x[u * V]);
    }
  }
  /// Element i / inner, as above.
  template <typename T>
  __device__ __forceinline__ void read_columns(const T* from, unsigned inner, T (&x)[V * U]) const {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const i64 at = unit(u);
      const T one = from[at < count ? static_cast<unsigned>(at) / inner : 0U];
#pragma unroll
      for (int i = 0; i < V; ++i) x[u * V + i] = one;
    }
  }
  template <typename T>
  __device__ __forceinline__ void read_single(const T* from, T (&x)[V * U]) const {
    const T one = *from;
#pragma unroll
    for (int i = 0; i < V * U; ++i) x[i] = one;
  }

  template <typename T>
  __device__ __forceinline__ void write(T* to, const T (&y)[V * U]) const {
    if (whole) {
#pragma unroll
      for (int u = 0; u < U; ++u) store<V>(to + unit(u), &y[u * V]);
    } else {
#pragma unroll
      for (int i = 0; i < V * U; ++i) {
        const i64 at = unit(i / V) + i % V;
        if (at < count) to[at] = y[i];
      }
    }
  }
};

}  // namespace plimsoll::cuda::rtc

using namespace plimsoll::cuda;
using namespace plimsoll::cuda::rtc;
