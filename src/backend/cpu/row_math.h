#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/math.h"

// Pieces of rows for kernels that normalise them: sums with an order fixed by the length alone, and
// blocks of 16-bit floats brought to f32. To be used within PLIMSOLL_CLONES functions.

namespace plimsoll::cpu {

/// Elements that are brought to f32 at a time.
inline constexpr std::int64_t kRowBlock = 512;

template <typename T>
PLIMSOLL_INLINE Acc<T> widen(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return math::from_bfloat(value.bits);
  } else if constexpr (std::is_same_v<T, Float16>) {
    return math::from_half(value.bits);
  } else {
    return value;
  }
}

template <typename T>
PLIMSOLL_INLINE T narrow(Acc<T> value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16::from_bits(math::to_bfloat(value));
  } else if constexpr (std::is_same_v<T, Float16>) {
    return Float16::from_bits(math::to_half(value));
  } else {
    return value;
  }
}

/// True for the 16-bit floats.
template <typename T>
inline constexpr bool is_narrow_v = !std::is_same_v<T, Acc<T>>;

/// `count` elements as Acc<T>: in `buffer` where they must be widened, else where they are.
template <typename T>
PLIMSOLL_INLINE const Acc<T>* staged(const T* from, std::int64_t count, Acc<T>* buffer) {
  if constexpr (is_narrow_v<T>) {
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = widen(from[i]);
    return buffer;
  } else {
    (void)count;
    (void)buffer;
    return from;
  }
}

PLIMSOLL_INLINE float exp_of(float x) { return math::exp(x); }
PLIMSOLL_INLINE double exp_of(double x) { return std::exp(x); }

inline constexpr std::int64_t kLanes = 16;

namespace detail {
template <typename A>
struct LanesOf;
template <>
struct LanesOf<float> {
  using Type = float __attribute__((vector_size(kLanes * sizeof(float))));
};
template <>
struct LanesOf<double> {
  using Type = double __attribute__((vector_size(kLanes * sizeof(double))));
};
}  // namespace detail

template <typename A>
using Lanes = typename detail::LanesOf<A>::Type;

/// A sum: element i goes to lane i % 16, and the lanes are added in a fixed tree.
template <typename A>
struct LaneSum {
  Lanes<A> lanes = {};

  PLIMSOLL_INLINE A total() const {
    A part[kLanes];
    std::memcpy(part, &lanes, sizeof(part));
    for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::int64_t i = 0; i < width; ++i) part[i] += part[i + width];
    }
    return part[0];
  }
};

template <typename A>
PLIMSOLL_INLINE void load_lanes(Lanes<A>& lanes, const A* from, std::int64_t count) {
  if (count >= kLanes) {
    std::memcpy(&lanes, from, sizeof(lanes));
  } else {
    A padded[kLanes] = {};
    for (std::int64_t i = 0; i < count; ++i) padded[i] = from[i];
    std::memcpy(&lanes, padded, sizeof(lanes));
  }
}

template <typename A>
PLIMSOLL_INLINE A sum_of(const A* x, std::int64_t count) {
  LaneSum<A> sum;
  Lanes<A> v;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    load_lanes(v, x + i, count - i);
    sum.lanes += v;
  }
  return sum.total();
}

template <typename A>
PLIMSOLL_INLINE A dot_of(const A* x, const A* y, std::int64_t count) {
  LaneSum<A> sum;
  Lanes<A> v;
  Lanes<A> w;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    load_lanes(v, x + i, count - i);
    load_lanes(w, y + i, count - i);
    sum.lanes += v * w;
  }
  return sum.total();
}

/// The sum of (x - center)².
template <typename A>
PLIMSOLL_INLINE A squares_of(const A* x, A center, std::int64_t count) {
  LaneSum<A> sum;
  Lanes<A> v;
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    load_lanes(v, x + i, kLanes);
    v -= center;
    sum.lanes += v * v;
  }
  A total = sum.total();
  for (std::int64_t i = whole; i < count; ++i) total += (x[i] - center) * (x[i] - center);
  return total;
}

/// The largest of `start` and the elements, NaN passed over.
template <typename A>
PLIMSOLL_INLINE A max_of(const A* x, std::int64_t count, A start) {
  Lanes<A> best = start - Lanes<A>{};
  Lanes<A> v;
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    load_lanes(v, x + i, kLanes);
    best = v > best ? v : best;
  }
  A part[kLanes];
  std::memcpy(part, &best, sizeof(part));
  A result = start;
  for (const A value : part) result = value > result ? value : result;
  for (std::int64_t i = whole; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

}  // namespace plimsoll::cpu
