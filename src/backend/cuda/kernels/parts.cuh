#pragma once

#include <plimsoll/backend/common/parts.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {

using backend::Parts;

namespace parts {

template <typename F, typename T>
struct Rows {
  backend::PartRows<const T> in[backend::kPartsIn<F>];
  backend::PartRows<T> out[backend::kPartsOut<F>];
};

template <typename F, typename T, int V, std::size_t... In, std::size_t... Out>
__device__ __forceinline__ void places(const Rows<F, T>& rows, std::int64_t row, std::int64_t at,
                                       std::index_sequence<In...>, std::index_sequence<Out...>) {
  const Vec<T, V> x[] = {load_vec<V>(rows.in[In].begin + row * rows.in[In].stride + at)...};
  Vec<T, V> y[sizeof...(Out)];
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const auto result = F::template apply<Acc<T>>(widen(x[In].lane[i])...);
    ((y[Out].lane[i] = narrow<T>(result.at[Out])), ...);
  }
  (store_vec(rows.out[Out].begin + row * rows.out[Out].stride + at, y[Out]), ...);
}

/// A thread for V places of a row, which V divides. An output may be an input: a thread reads what
/// it writes before it does.
template <typename F, typename T, int V>
__global__ void __launch_bounds__(kThreads)
    kernel(const __grid_constant__ Rows<F, T> rows, backend::PartsShape shape) {
  const std::int64_t units = shape.size / V;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t unit = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; unit < shape.rows * units; unit += stride) {
    const std::int64_t row = unit / units;
    places<F, T, V>(rows, row, (unit - row * units) * V,
                    std::make_index_sequence<backend::kPartsIn<F>>(),
                    std::make_index_sequence<backend::kPartsOut<F>>());
  }
}

/// Below so many places a thread for each is quicker than fewer threads with wider words: most of
/// the time is waiting for memory.
inline constexpr std::int64_t kFew = 1 << 18;

template <typename F, typename T>
void run(const KernelContext& k, const char* who) {
  const auto shape = backend::PartsShape::of<F>(k);
  const std::int64_t places = shape.rows * shape.size;
  if (places == 0) return;
  Rows<F, T> rows;
  backend::fill_parts<const T>(F::kIn, k.inputs, shape.size, rows.in);
  backend::fill_parts<T>(F::kOut, k.outputs, shape.size, rows.out);
  constexpr int kWide = 8 / static_cast<int>(sizeof(T));
  const auto launch = [&](auto kernel, int vector) {
    kernel<<<blocks_for(places / vector), kThreads, 0, queue_of(k)>>>(rows, shape);
  };
  if (places < kFew || shape.size % kWide != 0) {
    launch(kernel<F, T, 1>, 1);
  } else {
    launch(kernel<F, T, kWide>, kWide);
  }
  check_launch(who);
}

}  // namespace parts

/// See backend/cpu/parts.h.
template <typename F>
ops::Kernel in_parts() {
  return {[](const KernelContext& k) {
    with_float(k.in(0).dtype(), [&]<typename T>() { parts::run<F, T>(k, F::kName); });
  }};
}

}  // namespace plimsoll::cuda
