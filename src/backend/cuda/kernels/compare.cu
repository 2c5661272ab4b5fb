// Comparisons and logic, whose results are bool, and the choice between two tensors by one.
#include "backend/cuda/kernels/element.cuh"
#include "backend/cuda/kernels/elementwise.cuh"

namespace plimsoll::cuda {
namespace {

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, both, either };

/// bool compares as the bytes 0 and 1.
template <typename T>
struct ComparisonBody {
  using In = T;
  using Out = bool;
  using A = Acc<T>;
  static constexpr int kInputs = 2;
  Comparison op;

  template <int E>
  __device__ __forceinline__ void operator()(const A (&in)[2][E], bool (&y)[E]) const {
    const A(&a)[E] = in[0];
    const A(&b)[E] = in[1];
    switch (op) {
      case Comparison::equal:
        return each(y, [&](int i) { return element::equal(a[i], b[i]); });
      case Comparison::not_equal:
        return each(y, [&](int i) { return element::not_equal(a[i], b[i]); });
      case Comparison::less:
        return each(y, [&](int i) { return element::less(a[i], b[i]); });
      case Comparison::less_equal:
        return each(y, [&](int i) { return element::less_equal(a[i], b[i]); });
      case Comparison::both:
        return each(y, [&](int i) { return element::logical_and(a[i], b[i]); });
      case Comparison::either:
        return each(y, [&](int i) { return element::logical_or(a[i], b[i]); });
    }
  }
};

struct NotBody {
  using In = std::uint8_t;
  using Out = bool;
  static constexpr int kInputs = 1;
  template <int E>
  __device__ __forceinline__ void operator()(const std::uint8_t (&x)[1][E], bool (&y)[E]) const {
    each(y, [&](int i) { return element::logical_not(x[0][i]); });
  }
};

template <typename T>
struct FiniteBody {
  using In = T;
  using Out = bool;
  using A = Acc<T>;
  static constexpr int kInputs = 1;
  template <int E>
  __device__ __forceinline__ void operator()(const A (&x)[1][E], bool (&y)[E]) const {
    each(y, [&](int i) { return element::is_finite(x[0][i]); });
  }
};

template <Comparison Op>
void run_comparison(const KernelContext& k) {
  if (k.in(0).dtype() == DType::boolean) {
    return run_elementwise(k, ComparisonBody<std::uint8_t>{Op}, "comparison");
  }
  with_number(k.in(0).dtype(),
              [&]<typename T>() { run_elementwise(k, ComparisonBody<T>{Op}, "comparison"); });
}
template <Comparison Op>
void run_logic(const KernelContext& k) {
  run_elementwise(k, ComparisonBody<std::uint8_t>{Op}, "logic");
}

void run_is_finite(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename T>() { run_dense(k, FiniteBody<T>{}, "is_finite"); });
}

// where: elements are moved, not computed with, so only their size matters.

/// V elements at a time lie side by side in the output, and where bit n of `side_by_side` is set in
/// the condition (0), the first (1) and the second (2) as well.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    where_kernel(T* out, const std::uint8_t* condition, const T* first, const T* second,
                 const __grid_constant__ Index<3> index, std::uint32_t side_by_side,
                 std::uint32_t units) {
  constexpr int U = V == 1 ? 4 : kUnroll<V>;
  const std::uint32_t stride = gridDim.x * kThreads * U;
  for (std::uint32_t tile = blockIdx.x * kThreads * U; tile < units; tile += stride) {
    Vec<std::uint8_t, V> which[U];
    Vec<T, V> yes[U];
    Vec<T, V> no[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const std::uint32_t unit = min(tile + u * kThreads + threadIdx.x, units - 1);
      std::int64_t at[3];
      index.locate(unit, at);
      if (V > 1 && (side_by_side & 1U) != 0) {
        which[u] = load_vec<V>(condition + at[0]);
      } else {
        which[u].lane[0] = condition[at[0]];
      }
      if (V > 1 && (side_by_side & 2U) != 0) {
        yes[u] = load_vec<V>(first + at[1]);
      } else {
        yes[u].lane[0] = first[at[1]];
      }
      if (V > 1 && (side_by_side & 4U) != 0) {
        no[u] = load_vec<V>(second + at[2]);
      } else {
        no[u].lane[0] = second[at[2]];
      }
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const std::uint32_t unit = tile + u * kThreads + threadIdx.x;
      Vec<T, V> chosen;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const auto c = (side_by_side & 1U) != 0 ? which[u].lane[i] : which[u].lane[0];
        const T a = (side_by_side & 2U) != 0 ? yes[u].lane[i] : yes[u].lane[0];
        const T b = (side_by_side & 4U) != 0 ? no[u].lane[i] : no[u].lane[0];
        chosen.lane[i] = c != 0 ? a : b;
      }
      if (unit < units) store_vec(out + static_cast<std::int64_t>(unit) * V, chosen);
    }
  }
}

template <typename T>
void run_where_of(const KernelContext& k) {
  constexpr int V = kVector<T>;
  for_pieces(broadcast_walk<3>(k), [&](const Walk<4>& walk, const Walk<4>::Strides& offsets) {
    bool whole = walk.rank > 0 && walk.extent(walk.rank - 1) % V == 0 && offsets[0] % V == 0;
    std::uint32_t side_by_side = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      if (walk.rank > 0 && walk.stride(walk.rank - 1)[n + 1] != 0) {
        side_by_side |= 1U << n;
        whole = whole && offsets[n + 1] % V == 0;
      }
    }
    const std::int64_t units = walk.elements() / (whole ? V : 1);
    const Index<3> index(in_units<3>(walk, whole ? V : 1));
    const auto kernel = whole ? where_kernel<T, V> : where_kernel<T, 1>;
    const std::int64_t each = whole ? kUnroll<V> : 4;
    kernel<<<blocks_for((units + each - 1) / each, kThreads, 1 << 20), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>() + offsets[0], k.in(0).as<const std::uint8_t>() + offsets[1],
        k.in(1).as<const T>() + offsets[2], k.in(2).as<const T>() + offsets[3], index, side_by_side,
        static_cast<std::uint32_t>(units));
    check_launch("where");
  });
}

void run_where(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  with_size(dtype_size(k.out(0).dtype()), [&]<typename T>() { run_where_of<T>(k); });
}

void add_kernels(KernelTable& table) {
  table.add("equal", {run_comparison<Comparison::equal>});
  table.add("not_equal", {run_comparison<Comparison::not_equal>});
  table.add("less", {run_comparison<Comparison::less>});
  table.add("less_equal", {run_comparison<Comparison::less_equal>});
  table.add("is_finite", {run_is_finite});
  table.add("logical_and", {run_logic<Comparison::both>});
  table.add("logical_or", {run_logic<Comparison::either>});
  table.add("logical_not",
            {[](const KernelContext& k) { run_dense(k, NotBody{}, "logical_not"); }});
  table.add("where", {run_where});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
