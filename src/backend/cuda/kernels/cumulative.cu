// cumsum, cumprod and its gradient. Rows are walked by a block each, in tiles that it adds up by
// shuffles; lines that are not rows by a thread each, neighbours side by side. The order in which
// elements are joined follows from the shape alone.
#include "backend/cuda/kernels/gather.cuh"
#include "backend/cuda/kernels/launch.h"

namespace plimsoll::cuda {
namespace {

/// Integers are joined without a sign, so that they wrap around.
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Acc<T>>;

template <typename T>
struct Sum {
  using Element = T;
  using Value = Total<T>;
  const T* x;
  T* y;

  __device__ static Value nothing() { return Value(0); }
  __device__ Value load(std::int64_t at, std::int64_t, bool) const {
    return static_cast<Value>(widen(x[at]));
  }
  __device__ static Value join(const Value& before, const Value& value) { return before + value; }
  __device__ void store(std::int64_t at, std::int64_t, bool, const Value& value) const {
    y[at] = narrow<T>(static_cast<Acc<T>>(value));
  }
};

template <typename T>
struct Product : Sum<T> {
  using Value = Total<T>;
  __device__ static Value nothing() { return Value(1); }
  __device__ static Value join(const Value& before, const Value& value) { return before * value; }
};

/// s_i = dy_i + x_{i+1} s_{i+1} from the end, as functions s -> add + times * s that are joined;
/// dx_i is that times y_{i-1}.
template <typename A>
struct Affine {
  A times;
  A add;
};
template <typename T>
struct ProductGrad {
  using Element = T;
  using Value = Affine<Acc<T>>;
  const T* dy;
  const T* x;
  const T* y;
  T* dx;

  __device__ static Value nothing() { return {Acc<T>(1), Acc<T>(0)}; }
  /// `step` is towards the element that was walked over before, the one behind i.
  __device__ Value load(std::int64_t at, std::int64_t step, bool first) const {
    return {first ? Acc<T>(0) : widen(x[at - step]), widen(dy[at])};
  }
  __device__ static Value join(const Value& before, const Value& value) {
    return {before.times * value.times, value.add + value.times * before.add};
  }
  __device__ void store(std::int64_t at, std::int64_t step, bool last, const Value& value) const {
    dx[at] = narrow<T>(last ? value.add : widen(y[at + step]) * value.add);
  }
};

template <typename A>
__device__ __forceinline__ A from_below(const A& value, int distance) {
  return __shfl_up_sync(0xffffffffU, value, distance);
}
template <typename A>
__device__ __forceinline__ Affine<A> from_below(const Affine<A>& value, int distance) {
  return {from_below(value.times, distance), from_below(value.add, distance)};
}

/// What lines share: element j of a line is at begin + j * step.
struct Lines {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
  bool reverse;

  __device__ std::int64_t begin(std::int64_t line) const {
    const Split place = split(line, inner);
    const std::int64_t first = place.quotient * extent * inner + place.remainder;
    return reverse ? first + (extent - 1) * inner : first;
  }
  __device__ std::int64_t step() const { return reverse ? -inner : inner; }
};

template <typename F>
__global__ void __launch_bounds__(kThreads) walk_rows(F f, const Lines lines) {
  using V = typename F::Value;
  constexpr int kWarps = kThreads / 32;
  __shared__ V ends[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t step = lines.step();
  for (std::int64_t line = blockIdx.x; line < lines.outer * lines.inner; line += gridDim.x) {
    const std::int64_t begin = lines.begin(line);
    V carried = F::nothing();
    for (std::int64_t tile = 0; tile < lines.extent; tile += kThreads) {
      const std::int64_t j = tile + threadIdx.x;
      const bool inside = j < lines.extent;
      V value = inside ? f.load(begin + j * step, step, j == 0) : F::nothing();
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const V below = from_below(value, distance);
        if (lane >= distance) value = F::join(below, value);
      }
      if (lane == 31) ends[warp] = value;
      __syncthreads();
      V before = carried;
      for (int w = 0; w < warp; ++w) before = F::join(before, ends[w]);
      value = F::join(before, value);
      for (int w = 0; w < kWarps; ++w) carried = F::join(carried, ends[w]);
      __syncthreads();
      if (inside) f.store(begin + j * step, step, j + 1 == lines.extent, value);
    }
  }
}

template <typename F>
__global__ void __launch_bounds__(kThreads) walk_lines(F f, const Lines lines) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t step = lines.step();
  std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; line < lines.outer * lines.inner; line += stride) {
    std::int64_t at = lines.begin(line);
    auto value = F::nothing();
    for (std::int64_t j = 0; j < lines.extent; ++j, at += step) {
      value = F::join(value, f.load(at, step, j == 0));
      f.store(at, step, j + 1 == lines.extent, value);
    }
  }
}

template <typename F>
void walk(const KernelContext& k, const F& f, bool reverse) {
  const Around shape = around(k.out(0).shape(), k.attributes.integer("axis"));
  const Lines lines{shape.outer, shape.extent, shape.inner, reverse};
  const std::int64_t count = lines.outer * lines.inner;
  // Threads of a block read neighbours where lines are rows, or where there are few of them.
  if (lines.inner == 1 || count < 32) {
    walk_rows<F><<<blocks_for(count, 1), kThreads, 0, queue_of(k)>>>(f, lines);
  } else {
    walk_lines<F><<<blocks_for(count), kThreads, 0, queue_of(k)>>>(f, lines);
  }
  check_launch("cumulative");
}

void run_cumsum(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  with_number(k.out(0).dtype(), [&]<typename T>() {
    walk(k, Sum<T>{k.in(0).as<const T>(), k.out(0).as<T>()}, k.attributes.flag("reverse"));
  });
}

void run_cumprod(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  with_number(k.out(0).dtype(), [&]<typename T>() {
    walk(k, Product<T>{{k.in(0).as<const T>(), k.out(0).as<T>()}}, k.attributes.flag("reverse"));
  });
}

void run_cumprod_grad(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  with_float(k.out(0).dtype(), [&]<typename T>() {
    walk(k,
         ProductGrad<T>{k.in(0).as<const T>(), k.in(1).as<const T>(), k.in(2).as<const T>(),
                        k.out(0).as<T>()},
         !k.attributes.flag("reverse"));
  });
}

void add_kernels(KernelTable& table) {
  table.add("cumsum", {run_cumsum});
  table.add("cumprod", {run_cumprod});
  table.add("cumprod_grad", {run_cumprod_grad});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
