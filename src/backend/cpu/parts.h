#pragma once

#include <plimsoll/backend/common/parts.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_math.h"

namespace plimsoll::cpu {

using backend::Parts;

namespace parts {

/// Places that are worth a second thread: a cell computes several exponentials for each.
inline constexpr std::int64_t kGrain = 4096;

/// A row of every part. An output may be an input: a place is read before it is written.
template <typename F, typename T, std::size_t... In, std::size_t... Out>
PLIMSOLL_INLINE void plain_row(T* const* to, const T* const* from, std::int64_t size,
                               std::index_sequence<In...>, std::index_sequence<Out...>) {
  T* y[] = {to[Out]...};
  const T* x[] = {from[In]...};
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) {
    const auto result = F::template apply<Acc<T>>(widen(x[In][i])...);
    ((y[Out][i] = narrow<T>(result.at[Out])), ...);
  }
}

template <typename F, typename T, typename In, typename Out>
PLIMSOLL_CLONES void cloned_row(T* const* to, const T* const* from, std::int64_t size, In in,
                                Out out) {
  plain_row<F>(to, from, size, in, out);
}

/// f64 is there to check the others: its rows are not worth three times the compiler's time.
template <typename F, typename T, typename In, typename Out>
void row(T* const* to, const T* const* from, std::int64_t size, In in, Out out) {
  if constexpr (std::is_same_v<T, double>) {
    plain_row<F>(to, from, size, in, out);
  } else {
    cloned_row<F>(to, from, size, in, out);
  }
}

template <typename F, typename T>
void run(const KernelContext& k) {
  constexpr int kIn = backend::kPartsIn<F>;
  constexpr int kOut = backend::kPartsOut<F>;
  const auto shape = backend::PartsShape::of<F>(k);
  if (shape.size == 0) return;
  backend::PartRows<const T> in[kIn];
  backend::PartRows<T> out[kOut];
  backend::fill_parts<const T>(F::kIn, k.inputs, shape.size, in);
  backend::fill_parts<T>(F::kOut, k.outputs, shape.size, out);
  // Rows are never divided: which elements a loop's tail has depends on the shape alone.
  parallel_for(shape.rows, kGrain / shape.size + 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const T* from[kIn];
      T* to[kOut];
      for (int i = 0; i < kIn; ++i) from[i] = in[i].begin + r * in[i].stride;
      for (int i = 0; i < kOut; ++i) to[i] = out[i].begin + r * out[i].stride;
      row<F>(to, from, shape.size, std::make_index_sequence<kIn>(),
             std::make_index_sequence<kOut>());
    }
  });
}

}  // namespace parts

/// The kernel of a function of parts (backend/common/parts.h), for floating dtypes.
template <typename F>
Kernel in_parts() {
  return {[](const KernelContext& k) {
    with_float(k.in(0).dtype(), [&]<typename T>() { parts::run<F, T>(k); });
  }};
}

}  // namespace plimsoll::cpu
