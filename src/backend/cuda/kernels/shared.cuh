#pragma once

#include <array>
#include <string_view>

#include <plimsoll/backend/common/inline.h>

#include "backend/cuda/kernels/elementwise.cuh"
#include "backend/cuda/kernels/parts.cuh"

// What kernels of src/backend/shared are written in, for CUDA.

namespace plimsoll::cuda {

inline constexpr const char* kBackend = "cuda";

template <typename T>
PLIMSOLL_INLINE T sigmoid_of(T x) {
  return T{1} / (T{1} + ::exp(-x));
}
template <typename T>
PLIMSOLL_INLINE T tanh_of(T x) {
  return ::tanh(x);
}

/// F over Count elements of T, with the op's numbers behind them.
template <typename F, int Count, typename T>
struct SharedBody {
  using In = T;
  using Out = T;
  using A = Acc<T>;
  static constexpr int kInputs = Count;
  A first;
  A second;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[Count][E], A (&y)[E]) const {
    each(y, [&](int i) { return one(in, i); });
  }

 private:
  template <int E>
  __device__ __forceinline__ A one(const A (&in)[Count][E], int i) const {
    static_assert(Count == 1 || Count == 2);
    if constexpr (requires { F::kNumbers; }) {
      if constexpr (Count == 1) return F::template apply<A>(in[0][i], first, second);
      if constexpr (Count == 2) return F::template apply<A>(in[0][i], in[1][i], first, second);
    } else {
      if constexpr (Count == 1) return F::template apply<A>(in[0][i]);
      if constexpr (Count == 2) return F::template apply<A>(in[0][i], in[1][i]);
    }
  }
};

/// See backend/cpu/shared.h.
template <typename F, int Count>
ops::Kernel elementwise() {
  return {[](const KernelContext& k) {
    std::array<double, 2> numbers{};
    if constexpr (requires { F::kNumbers; }) {
      static_assert(F::kNumbers.size() <= 2);
      for (std::size_t i = 0; i < F::kNumbers.size(); ++i) {
        numbers[i] = k.attributes.number(F::kNumbers[i]);
      }
    }
    with_float(k.in(0).dtype(), [&]<typename T>() {
      run_elementwise(
          k,
          SharedBody<F, Count, T>{static_cast<Acc<T>>(numbers[0]), static_cast<Acc<T>>(numbers[1])},
          "elementwise");
    });
  }};
}

}  // namespace plimsoll::cuda
