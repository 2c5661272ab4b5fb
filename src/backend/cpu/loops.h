#pragma once

#include <cmath>
#include <type_traits>

#include "backend/cpu/chunks.h"
#include "backend/cpu/dtype_switch.h"

// Loops for run_chunks from a function of one element:
//
//   struct Gelu {
//     template <typename T>
//     PLIMSOLL_INLINE static T apply(T x) { ... }
//   };
//   table.add("gelu", {[](const KernelContext& k) { run_float<Gelu, 1>(k); }});
//
// A function may take the op's numbers last, as `T first, T second`; Count counts the tensors.

namespace plimsoll::cpu {

namespace loops {

template <typename F, int Count, typename T>
PLIMSOLL_INLINE auto apply(const T* const* in, std::int64_t i, [[maybe_unused]] T first,
                           [[maybe_unused]] T second) {
  if constexpr (Count == 1) {
    if constexpr (std::is_invocable_v<decltype(F::template apply<T>), T>) {
      return F::template apply<T>(in[0][i]);
    } else {
      return F::template apply<T>(in[0][i], first, second);
    }
  } else if constexpr (Count == 2) {
    if constexpr (std::is_invocable_v<decltype(F::template apply<T>), T, T>) {
      return F::template apply<T>(in[0][i], in[1][i]);
    } else {
      return F::template apply<T>(in[0][i], in[1][i], first, second);
    }
  } else {
    return F::template apply<T>(in[0][i], in[1][i], in[2][i]);
  }
}

/// What a loop over T writes: bool, or T.
template <typename F, int Count, typename T>
using Result = decltype(apply<F, Count, T>(nullptr, 0, T{}, T{}));

template <typename F, int Count>
PLIMSOLL_CLONES void f32(void* out, const void* const* in, std::int64_t count,
                         const Numbers& numbers) {
  auto* to = static_cast<Result<F, Count, float>*>(out);
  const float* rows[Count];
  for (int i = 0; i < Count; ++i) rows[i] = static_cast<const float*>(in[i]);
  const auto first = static_cast<float>(numbers[0]);
  const auto second = static_cast<float>(numbers[1]);
  for (std::int64_t block = 0; block < count; block += kBlock) {
    const float* here[Count];
    for (int i = 0; i < Count; ++i) here[i] = rows[i] + block;
#pragma omp simd
    for (std::int64_t i = 0; i < kBlock; ++i) {
      to[block + i] = apply<F, Count, float>(here, i, first, second);
    }
  }
}

/// Any other dtype, without haste.
template <typename F, int Count, typename T>
void plain(void* out, const void* const* in, std::int64_t count, const Numbers& numbers) {
  auto* to = static_cast<Result<F, Count, T>*>(out);
  const T* rows[Count];
  for (int i = 0; i < Count; ++i) rows[i] = static_cast<const T*>(in[i]);
  const T first = ops::wrapped<T>(numbers[0]);
  const T second = ops::wrapped<T>(numbers[1]);
  for (std::int64_t i = 0; i < count; ++i) to[i] = apply<F, Count, T>(rows, i, first, second);
}

}  // namespace loops

/// The loop of F for inputs of a floating dtype.
template <typename F, int Count>
void run_float(const KernelContext& k, const Numbers& numbers = {}) {
  if (k.in(0).dtype() == DType::f64) {
    run_chunks(k, {.run = loops::plain<F, Count, double>}, numbers);
  } else {
    run_chunks(k, {.run = loops::f32<F, Count>, .blocks = true}, numbers);
  }
}

/// The same for numbers of any dtype, and bool where F takes it.
template <typename F, int Count>
void run_number(const KernelContext& k, const Numbers& numbers = {}) {
  if (is_floating(k.in(0).dtype())) return run_float<F, Count>(k, numbers);
  with_integer(k.in(0).dtype(), [&]<typename T>() {
    run_chunks(k, {.run = loops::plain<F, Count, T>, .widen = false}, numbers);
  });
}

/// Integers wrap around where they overflow.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

}  // namespace plimsoll::cpu
