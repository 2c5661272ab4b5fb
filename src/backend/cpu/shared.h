#pragma once

#include "backend/cpu/loops.h"
#include "backend/cpu/parts.h"

// What kernels of src/backend/shared are written in, for the CPU.

namespace plimsoll::cpu {

inline constexpr const char* kBackend = "cpu";

template <typename T>
PLIMSOLL_INLINE T sigmoid_of(T x) {
  return math::sigmoid(x);
}
template <typename T>
PLIMSOLL_INLINE T tanh_of(T x) {
  return math::tanh(x);
}

/// The kernel of a function of Count elements, for floating dtypes. F::apply gets the elements and,
/// where F::kNumbers names attributes (two at most), their values behind them.
template <typename F, int Count>
Kernel elementwise() {
  return {[](const KernelContext& k) {
    Numbers numbers{};
    if constexpr (requires { F::kNumbers; }) {
      static_assert(F::kNumbers.size() <= std::tuple_size_v<Numbers>);
      for (std::size_t i = 0; i < F::kNumbers.size(); ++i) {
        numbers[i] = k.attributes.number(F::kNumbers[i]);
      }
    }
    run_float<F, Count>(k, numbers);
  }};
}

}  // namespace plimsoll::cpu
