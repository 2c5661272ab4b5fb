#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include <plimsoll/backend/common/dtype_switch.h>
#include <plimsoll/base/dtype.h>

// Elements in device code: Float16 is __half there, BFloat16 is __nv_bfloat16, and boolean is
// std::uint8_t where it is read and bool where a dtype is meant.

namespace plimsoll::cuda {

template <typename T>
inline constexpr bool is_narrow_v = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

/// In what values of T are computed: f32 for the 16-bit floats, else T itself.
template <typename T>
using Acc = std::conditional_t<is_narrow_v<T>, float, T>;

template <typename T>
__device__ __forceinline__ Acc<T> widen(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return value;
  }
}

/// Rounds to the nearest, ties to even; NaN stays NaN.
template <typename T>
__device__ __forceinline__ T narrow(Acc<T> value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

/// Elements of T in 16 bytes.
template <typename T>
inline constexpr int kVector = static_cast<int>(16 / sizeof(T));

namespace detail {
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
}  // namespace detail

/// What is moved by one instruction: `Bytes` of them, 1 to 16.
template <int Bytes>
using Word = typename detail::WordOf<Bytes>::Type;

/// `N` elements side by side, moved as one word where they come to at most 16 bytes.
template <typename T, int N = kVector<T>>
struct alignas(sizeof(T) * N) Vec {
  static_assert(sizeof(T) * N <= 16);
  T lane[N];
};

/// `at` is aligned to the bytes of the vector.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_vec(const T* at) {
  const auto word = *reinterpret_cast<const Word<static_cast<int>(sizeof(T)) * N>*>(at);
  Vec<T, N> result;
  __builtin_memcpy(&result, &word, sizeof(word));
  return result;
}
template <typename T, int N>
__device__ __forceinline__ void store_vec(T* at, const Vec<T, N>& value) {
  Word<static_cast<int>(sizeof(T)) * N> word;
  __builtin_memcpy(&word, &value, sizeof(word));
  *reinterpret_cast<Word<static_cast<int>(sizeof(T)) * N>*>(at) = word;
}

/// The same as values to compute with, and back.
template <int N, typename T>
__device__ __forceinline__ void load_wide(const T* at, Acc<T>* to) {
  const Vec<T, N> vec = load_vec<N>(at);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = widen(vec.lane[i]);
}
template <int N, typename T>
__device__ __forceinline__ void store_wide(T* at, const Acc<T>* from) {
  Vec<T, N> vec;
#pragma unroll
  for (int i = 0; i < N; ++i) vec.lane[i] = narrow<T>(from[i]);
  store_vec(at, vec);
}

// On the host: the switches of backend/common, `body.template operator()<T>()` for the C++ type of
// a dtype.

template <typename Body>
void with_float(DType dtype, Body&& body) {
  backend::with_float<__half, __nv_bfloat16>("cuda", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_integer(DType dtype, Body&& body) {
  backend::with_integer("cuda", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_number(DType dtype, Body&& body) {
  backend::with_number<__half, __nv_bfloat16>("cuda", dtype, static_cast<Body&&>(body));
}
template <typename Body>
void with_any(DType dtype, Body&& body) {
  backend::with_any<__half, __nv_bfloat16>("cuda", dtype, static_cast<Body&&>(body));
}

/// For elements that are moved and not computed with: an unsigned type of their size.
template <typename Body>
void with_size(std::size_t size, Body&& body) {
  switch (size) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    default:
      return body.template operator()<std::uint64_t>();
  }
}

}  // namespace plimsoll::cuda
