// Gated units and their gradients. A thread has some places of a row, 16 bytes of each part where
// rows are whole such words. Results may be written over inputs: a thread reads what it writes
// before it does.
#include <algorithm>

#include <plimsoll/ops/gated.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/index.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/math.cuh"

namespace plimsoll::cuda {
namespace {

using ops::Gate;

template <typename A>
struct Through {
  A value;
  A slope;
};

template <Gate G, bool Quick, typename A>
__device__ __forceinline__ Through<A> through(A g) {
  if constexpr (G == Gate::sigmoid) {
    const A s = math::sigmoid<Quick>(g);
    return {s, s * (A{1} - s)};
  } else if constexpr (G == Gate::silu) {
    const A s = math::sigmoid<Quick>(g);
    return {g * s, s * (A{1} + g * (A{1} - s))};
  } else if constexpr (G == Gate::gelu) {
    const math::Normal<A> normal = math::normal<Quick>(g);
    return {g * normal.share, normal.share + g * normal.density};
  } else if constexpr (G == Gate::relu) {
    return {g <= A{0} ? A{0} : g, g > A{0} ? A{1} : A{0}};  // NaN stays
  } else {
    return {g, A{1}};
  }
}

/// Rows of `size` places, and how far it is from one row to the next: of gate and value (`wide`, as
/// for their gradients) and of the result and its gradient (`size`).
template <typename T>
struct Arguments {
  const T* g;
  const T* x;
  const T* dy;  ///< null: forward
  T* y;         ///< forward
  T* dg;
  T* dx;
  std::int64_t size;
  std::int64_t wide;
  std::uint32_t units;  ///< of V places, in all rows
  Divider per_row;
};

template <typename T, Gate G, int V>
__global__ void __launch_bounds__(kThreads) gated_kernel(const __grid_constant__ Arguments<T> a) {
  using A = Acc<T>;
  constexpr bool kQuick = is_narrow_v<T>;
  for (std::uint32_t unit = blockIdx.x * kThreads + threadIdx.x; unit < a.units;
       unit += gridDim.x * kThreads) {
    std::uint32_t row = unit;
    const std::int64_t at = static_cast<std::int64_t>(a.per_row.divide(row)) * V;
    const std::int64_t in = row * a.wide + at;
    const std::int64_t out = row * a.size + at;
    A g[V];
    A x[V];
    load_wide<V>(a.g + in, g);
    load_wide<V>(a.x + in, x);
    if (a.dy == nullptr) {
#pragma unroll
      for (int i = 0; i < V; ++i) x[i] *= through<G, kQuick>(g[i]).value;
      store_wide<V>(a.y + out, x);
      continue;
    }
    A dy[V];
    load_wide<V>(a.dy + out, dy);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const Through<A> gate = through<G, kQuick>(g[i]);
      g[i] = dy[i] * x[i] * gate.slope;
      x[i] = dy[i] * gate.value;
    }
    store_wide<V>(a.dg + in, g);
    store_wide<V>(a.dx + in, x);
  }
}

/// For all rows, as many of them at a time as are counted in 32 bits.
template <typename T, Gate G>
void launch(Arguments<T> a, std::int64_t rows, const char* who, cudaStream_t stream) {
  const bool words = a.size % kVector<T> == 0;
  const std::int64_t per_row = words ? a.size / kVector<T> : a.size;
  const std::int64_t most = std::max<std::int64_t>(1, kMostIndexed / per_row);
  a.per_row = Divider(per_row);
  const auto advance = [](auto*& pointer, std::int64_t by) {
    if (pointer != nullptr) pointer += by;
  };
  for (std::int64_t done = 0; done < rows; done += most) {
    const std::int64_t count = std::min(most, rows - done);
    a.units = static_cast<std::uint32_t>(count * per_row);
    const unsigned blocks = blocks_for(count * per_row);
    if (words) {
      gated_kernel<T, G, kVector<T>><<<blocks, kThreads, 0, stream>>>(a);
    } else {
      gated_kernel<T, G, 1><<<blocks, kThreads, 0, stream>>>(a);
    }
    check_launch(who);
    advance(a.g, count * a.wide);
    advance(a.x, count * a.wide);
    advance(a.dg, count * a.wide);
    advance(a.dx, count * a.wide);
    advance(a.y, count * a.size);
    advance(a.dy, count * a.size);
  }
}

template <typename T>
void launch_gate(const KernelContext& k, const Arguments<T>& a, const char* who) {
  // Input 0 has the gate: alone, or beside the value.
  const std::int64_t rows = k.in(0).elements() / a.wide;
  switch (static_cast<Gate>(k.attributes.integer("gate"))) {
    case Gate::sigmoid:
      return launch<T, Gate::sigmoid>(a, rows, who, queue_of(k));
    case Gate::silu:
      return launch<T, Gate::silu>(a, rows, who, queue_of(k));
    case Gate::gelu:
      return launch<T, Gate::gelu>(a, rows, who, queue_of(k));
    case Gate::relu:
      return launch<T, Gate::relu>(a, rows, who, queue_of(k));
    case Gate::linear:
      return launch<T, Gate::linear>(a, rows, who, queue_of(k));
  }
}

/// Elements of the last dimension; of a scalar there is one.
std::int64_t width_of(const TensorView& view) {
  return view.shape().rank() == 0 ? 1 : view.shape().dim(-1);
}

void run_gated(const KernelContext& k, bool grad) {
  if (k.in(0).elements() == 0) return;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    const std::int64_t size = width_of(k.in(0));
    Arguments<T> a{};
    a.g = k.in(0).as<const T>();
    a.x = k.in(1).as<const T>();
    a.size = a.wide = size;
    if (grad) {
      a.dy = k.in(2).as<const T>();
      a.dg = k.out(0).as<T>();
      a.dx = k.out(1).as<T>();
    } else {
      a.y = k.out(0).as<T>();
    }
    launch_gate(k, a, grad ? "gated_grad" : "gated");
  });
}

void run_glu(const KernelContext& k, bool grad) {
  if (k.in(0).elements() == 0) return;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    const std::int64_t size = width_of(k.in(0)) / 2;
    Arguments<T> a{};
    a.x = k.in(0).as<const T>();
    a.g = a.x + size;
    a.size = size;
    a.wide = 2 * size;
    if (grad) {
      a.dy = k.in(1).as<const T>();
      a.dx = k.out(0).as<T>();
      a.dg = a.dx + size;
    } else {
      a.y = k.out(0).as<T>();
    }
    launch_gate(k, a, grad ? "glu_grad" : "glu");
  });
}

void add_kernels(KernelTable& table) {
  table.add("gated", {[](const KernelContext& k) { run_gated(k, false); }});
  table.add("gated_grad", {[](const KernelContext& k) { run_gated(k, true); }});
  table.add("glu", {[](const KernelContext& k) { run_glu(k, false); }});
  table.add("glu_grad", {[](const KernelContext& k) { run_glu(k, true); }});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
