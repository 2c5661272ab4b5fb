// argmax, top_k, and gradients of reductions that choose.
#include <algorithm>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/reduce.cuh"

namespace plimsoll::cuda {

/// A value and where it was found; -1: nothing yet.
template <typename A>
struct Found {
  A value;
  std::int64_t index;
};
template <typename A>
__device__ __forceinline__ Found<A> from_lane(const Found<A>& mine, int distance) {
  return {static_cast<A>(__shfl_xor_sync(0xffffffffU, mine.value, distance)),
          __shfl_xor_sync(0xffffffffU, mine.index, distance)};
}

namespace {

/// NaN before all, then the larger.
template <typename A>
__device__ __forceinline__ bool before(A a, A b) {
  return a > b || (a != a && b == b);
}
/// The same for elements: among equal ones the first.
template <typename A>
__device__ __forceinline__ bool before(const Found<A>& a, const Found<A>& b) {
  if (a.index < 0 || b.index < 0) return b.index < 0 && a.index >= 0;
  if (before(a.value, b.value)) return true;
  return !before(b.value, a.value) && a.index < b.index;
}
struct Better {
  template <typename A>
  __device__ __forceinline__ Found<A> operator()(const Found<A>& a, const Found<A>& b) const {
    return before(b, a) ? b : a;
  }
};

struct Choice {
  Positions kept;
  Positions reduced;
  std::int64_t outputs = 0;
  std::int64_t count = 0;  ///< elements of each
  int group = 1;

  explicit Choice(const ReduceLayout& layout)
      : kept(layout.kept),
        reduced(layout.reduced),
        outputs(layout.kept.count()),
        count(layout.reduced.count()),
        group(group_for(layout)) {}
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    argmax_kernel(std::int64_t* out, const T* x, const __grid_constant__ Choice work) {
  using A = Acc<T>;
  __shared__ Found<A> shared[kThreads / 32];
  const Groups groups(work.group);
  for (std::int64_t o = groups.first; o < work.outputs; o += groups.step) {
    const T* row = x + work.kept.at(o);
    Found<A> best{A{}, -1};
#pragma unroll 4
    for (std::int64_t i = groups.lane; i < work.count; i += groups.group) {
      const Found<A> here{widen(row[work.reduced.at(i)]), i};
      best = Better()(best, here);
    }
    best = joined(best, groups.group, shared, Better());
    if (groups.lane == 0) out[o] = best.index;
  }
}

void run_argmax(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Choice work(ReduceLayout(k.in(0).shape(), {k.attributes.integer("axis")}));
  with_number(k.in(0).dtype(), [&]<typename T>() {
    argmax_kernel<T><<<blocks_of_groups(work.outputs, work.group), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<std::int64_t>(), k.in(0).as<const T>(), work);
    check_launch("argmax");
  });
}

/// One after another: each is the first of those behind the one before it.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    top_k_kernel(T* values, std::int64_t* indices, const T* x, std::int64_t rows, std::int64_t size,
                 std::int64_t count, int group) {
  using A = Acc<T>;
  __shared__ Found<A> shared[kThreads / 32];
  const Groups groups(group);
  for (std::int64_t r = groups.first; r < rows; r += groups.step) {
    const T* row = x + r * size;
    Found<A> last{A{}, -1};
    for (std::int64_t n = 0; n < count; ++n) {
      Found<A> best{A{}, -1};
#pragma unroll 4
      for (std::int64_t i = groups.lane; i < size; i += groups.group) {
        const Found<A> here{widen(row[i]), i};
        if (n == 0 || before(last, here)) best = Better()(best, here);
      }
      last = joined(best, groups.group, shared, Better());
      if (groups.lane == 0) {
        values[r * count + n] = row[last.index];
        indices[r * count + n] = last.index;
      }
    }
  }
}

void run_top_k(const KernelContext& k) {
  const std::int64_t count = k.attributes.integer("k");
  if (k.out(0).elements() == 0) return;
  const std::int64_t size = k.in(0).shape().dim(-1);
  const std::int64_t rows = k.out(0).elements() / count;
  const int group = size <= 1024 ? 32 : kThreads;
  with_number(k.in(0).dtype(), [&]<typename T>() {
    top_k_kernel<T><<<blocks_of_groups(rows, group), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), k.out(1).as<std::int64_t>(), k.in(0).as<const T>(), rows, size, count,
        group);
    check_launch("top_k");
  });
}

/// A thread per row, so that of equal indices the last wins, as on the CPU.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(T* to, const T* dy, const std::int64_t* indices, std::int64_t rows,
                   std::int64_t size, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; row < rows; row += step) {
    for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
      const std::int64_t at = indices[i];
      if (at >= 0 && at < size) to[row * size + at] = dy[i];
    }
  }
}

void run_top_k_grad(const KernelContext& k) {
  const std::int64_t size = k.attributes.integer("size");
  const std::int64_t count = k.in(0).shape().dim(-1);
  if (k.out(0).elements() == 0) return;
  check(cudaMemsetAsync(k.out(0).data, 0, k.out(0).type.bytes(), queue_of(k)), "top_k_grad");
  if (count == 0) return;
  const std::int64_t rows = k.out(0).elements() / size;
  with_size(dtype_size(k.out(0).dtype()), [&]<typename T>() {
    scatter_kernel<T><<<blocks_for(rows), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), k.in(0).as<const T>(), k.in(1).as<const std::int64_t>(), rows, size,
        count);
    check_launch("top_k_grad");
  });
}

/// dy at the first element that is the result, or NaN.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    extreme_grad_kernel(T* dx, const T* dy, const T* x, const T* y,
                        const __grid_constant__ Choice work) {
  __shared__ std::int64_t shared[kThreads / 32];
  const Groups groups(work.group);
  for (std::int64_t o = groups.first; o < work.outputs; o += groups.step) {
    const std::int64_t base = work.kept.at(o);
    const Acc<T> extreme = widen(y[o]);
    const auto is_chosen = [&](std::int64_t at) {
      const Acc<T> value = widen(x[at]);
      return value == extreme || value != value;
    };
    std::int64_t chosen = 0;
    for (std::int64_t i = groups.lane; i < work.count; i += groups.group) {
      chosen += is_chosen(base + work.reduced.at(i)) ? 1 : 0;
    }
    chosen =
        joined(chosen, groups.group, shared, [](std::int64_t a, std::int64_t b) { return a + b; });
    const T share = narrow<T>(widen(dy[o]) / static_cast<Acc<T>>(chosen));
    for (std::int64_t i = groups.lane; i < work.count; i += groups.group) {
      const std::int64_t at = base + work.reduced.at(i);
      dx[at] = is_chosen(at) ? share : narrow<T>(Acc<T>{0});
    }
  }
}

void run_extreme_grad(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Choice work(ReduceLayout(k.in(1).shape(), k.attributes.integers("axes")));
  with_float(k.out(0).dtype(), [&]<typename T>() {
    extreme_grad_kernel<T>
        <<<blocks_of_groups(work.outputs, work.group), kThreads, 0, queue_of(k)>>>(
            k.out(0).as<T>(), k.in(0).as<const T>(), k.in(1).as<const T>(), k.in(2).as<const T>(),
            work);
    check_launch("extreme_grad");
  });
}

/// A zero makes the product of all others matter, two of them none.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    prod_grad_kernel(T* dx, const T* dy, const T* x, const __grid_constant__ Choice work) {
  __shared__ double products[kThreads / 32];
  __shared__ std::int64_t counts[kThreads / 32];
  const Groups groups(work.group);
  for (std::int64_t o = groups.first; o < work.outputs; o += groups.step) {
    const std::int64_t base = work.kept.at(o);
    double product = 1;
    std::int64_t zeros = 0;
    for (std::int64_t i = groups.lane; i < work.count; i += groups.group) {
      const auto value = static_cast<double>(widen(x[base + work.reduced.at(i)]));
      zeros += value == 0 ? 1 : 0;
      product *= value == 0 ? 1 : value;
    }
    product = joined(product, groups.group, products, [](double a, double b) { return a * b; });
    zeros =
        joined(zeros, groups.group, counts, [](std::int64_t a, std::int64_t b) { return a + b; });
    product *= static_cast<double>(widen(dy[o]));
    for (std::int64_t i = groups.lane; i < work.count; i += groups.group) {
      const std::int64_t at = base + work.reduced.at(i);
      const auto value = static_cast<double>(widen(x[at]));
      double gradient = 0;
      if (zeros == 0) gradient = product / value;
      if (zeros == 1 && value == 0) gradient = product;
      dx[at] = narrow<T>(static_cast<Acc<T>>(gradient));
    }
  }
}

void run_prod_grad(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Choice work(ReduceLayout(k.in(1).shape(), k.attributes.integers("axes")));
  with_float(k.out(0).dtype(), [&]<typename T>() {
    prod_grad_kernel<T><<<blocks_of_groups(work.outputs, work.group), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), k.in(0).as<const T>(), k.in(1).as<const T>(), work);
    check_launch("prod_grad");
  });
}

void add_kernels(KernelTable& table) {
  table.add("argmax", {run_argmax});
  table.add("top_k", {run_top_k});
  table.add("top_k_grad", {run_top_k_grad});
  table.add("extreme_grad", {run_extreme_grad});
  table.add("prod_grad", {run_prod_grad});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
