// What headers that NVRTC compiles use of <cstdint>, <limits> and <type_traits>, and nothing for
// <cuda_runtime.h>: it has its own declarations and no standard library. Stands for all four.
#ifndef PLIMSOLL_RTC_STD_H
#define PLIMSOLL_RTC_STD_H

namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
static_assert(sizeof(int64_t) == 8, "as on the host");

template <bool Choice, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool Choice, typename A, typename B>
using conditional_t = typename conditional<Choice, A, B>::type;

template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;

template <typename A>
inline constexpr bool is_floating_point_v = is_same_v<A, float> || is_same_v<A, double>;
template <typename A>
inline constexpr bool is_integral_v =
    is_same_v<A, bool> || is_same_v<A, int8_t> || is_same_v<A, int16_t> || is_same_v<A, int32_t> ||
    is_same_v<A, int64_t> || is_same_v<A, uint8_t> || is_same_v<A, uint16_t> ||
    is_same_v<A, uint32_t> || is_same_v<A, uint64_t>;
template <typename A>
inline constexpr bool is_signed_v = A(-1) < A(0);

/// Of integers.
template <typename A>
struct numeric_limits {
  static constexpr int digits = static_cast<int>(sizeof(A)) * 8 - (is_signed_v<A> ? 1 : 0);
  __device__ static constexpr A max() { return static_cast<A>(~uint64_t{0} >> (64 - digits)); }
  __device__ static constexpr A min() { return is_signed_v<A> ? static_cast<A>(-max() - 1) : A(0); }
};

}  // namespace std

#endif
