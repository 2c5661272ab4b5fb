// sum, mean, max, min, prod, all, any. The order in which elements are joined is a function of the
// shape and the dtype alone: threads join elements in f32 (f64, i64), and then each other's results
// in f64 (i64); where outputs are few, parts of each go through the workspace.
#include "backend/cuda/kernels/reduce.cuh"

#include <algorithm>
#include <limits>
#include <memory>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/strided_copy.h"
#include "backend/cuda/kernels/vectors.cuh"

namespace plimsoll::cuda {
namespace {

enum class Join : std::uint8_t { sum, prod, max, min };

/// In what elements of T are joined at first, and results of that afterwards.
template <typename T>
using Lane = std::conditional_t<std::is_integral_v<T>, std::int64_t, Acc<T>>;
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

template <Join J, typename L>
__device__ __forceinline__ L start() {
  if constexpr (J == Join::sum) {
    return L{0};
  } else if constexpr (J == Join::prod) {
    return L{1};
  } else if constexpr (std::is_integral_v<L>) {
    return J == Join::max ? std::numeric_limits<L>::lowest() : std::numeric_limits<L>::max();
  } else {
    return J == Join::max ? -std::numeric_limits<L>::infinity()
                          : std::numeric_limits<L>::infinity();
  }
}
template <Join J, typename L>
__device__ __forceinline__ L join(L a, L b) {
  using Wrapping = std::conditional_t<std::is_integral_v<L>, std::uint64_t, L>;
  if constexpr (J == Join::sum) {
    return static_cast<L>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  } else if constexpr (J == Join::prod) {
    return static_cast<L>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  } else if constexpr (J == Join::max) {
    return (b > a) | (b != b) ? b : a;
  } else {
    return (b < a) | (b != b) ? b : a;
  }
}
template <typename W>
__device__ __forceinline__ W join_by(Join op, W a, W b) {
  switch (op) {
    case Join::sum:
      return join<Join::sum>(a, b);
    case Join::prod:
      return join<Join::prod>(a, b);
    case Join::max:
      return join<Join::max>(a, b);
    default:
      return join<Join::min>(a, b);
  }
}
template <typename W>
__device__ __forceinline__ W start_by(Join op) {
  switch (op) {
    case Join::sum:
      return start<Join::sum, W>();
    case Join::prod:
      return start<Join::prod, W>();
    case Join::max:
      return start<Join::max, W>();
    default:
      return start<Join::min, W>();
  }
}

template <typename T>
__device__ __forceinline__ T finished(Total<T> total, double factor) {
  if constexpr (std::is_same_v<T, bool>) {
    return total != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(total);
  } else {
    return narrow<T>(static_cast<Acc<T>>(factor == 1 ? total : total * factor));
  }
}

/// Joins the vectors at positions first, first + step ... below end, lane by lane.
template <Join J, int V, typename T>
__device__ __forceinline__ void gather(const T* x, const Positions& places, std::int64_t first,
                                       std::int64_t end, std::int64_t step, Total<T> (&totals)[V]) {
  constexpr int U = 4;
  Lane<T> lanes[V];
#pragma unroll
  for (int v = 0; v < V; ++v) lanes[v] = start<J, Lane<T>>();
  std::int64_t i = first;
  for (; i + (U - 1) * step < end; i += U * step) {
    Vec<T, V> raw[U];
#pragma unroll
    for (int u = 0; u < U; ++u) raw[u] = load_vec<V>(x + places.at(i + u * step));
#pragma unroll
    for (int u = 0; u < U; ++u) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        lanes[v] = join<J>(lanes[v], static_cast<Lane<T>>(widen(raw[u].lane[v])));
      }
    }
  }
  for (; i < end; i += step) {
    const Vec<T, V> raw = load_vec<V>(x + places.at(i));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      lanes[v] = join<J>(lanes[v], static_cast<Lane<T>>(widen(raw.lane[v])));
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) totals[v] = static_cast<Total<T>>(lanes[v]);
}
template <int V, typename T>
__device__ __forceinline__ void gather_by(Join op, const T* x, const Positions& places,
                                          std::int64_t first, std::int64_t end, std::int64_t step,
                                          Total<T> (&totals)[V]) {
  switch (op) {
    case Join::sum:
      return gather<Join::sum>(x, places, first, end, step, totals);
    case Join::prod:
      return gather<Join::prod>(x, places, first, end, step, totals);
    case Join::max:
      return gather<Join::max>(x, places, first, end, step, totals);
    default:
      return gather<Join::min>(x, places, first, end, step, totals);
  }
}

struct Work {
  Positions kept;
  Positions reduced;
  std::int64_t outputs = 0;
  std::int64_t parts = 1;  ///< results per output that are stored and joined afterwards
  int threads = 1;         ///< of a group, or beside each other
  Join op = Join::sum;
  double factor = 1;
};

/// A group of threads joins one part of one output; vectors lie along what is reduced.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(T* out, Total<T>* partial, const T* x, const __grid_constant__ Work work) {
  using W = Total<T>;
  __shared__ W shared[kThreads / 32];
  const std::int64_t units = work.reduced.count();
  const Groups groups(work.threads);
  for (std::int64_t g = groups.first; g < work.outputs * work.parts; g += groups.step) {
    const std::int64_t output = work.parts == 1 ? g : g / work.parts;
    const std::int64_t part = work.parts == 1 ? 0 : g % work.parts;
    const std::int64_t begin = units * part / work.parts;
    const std::int64_t end = units * (part + 1) / work.parts;
    W lanes[V];
    gather_by(work.op, x + work.kept.at(output), work.reduced, begin + groups.lane, end,
              groups.group, lanes);
    W total = lanes[0];
#pragma unroll
    for (int v = 1; v < V; ++v) total = join_by(work.op, total, lanes[v]);
    total = joined(total, groups.group, shared, [&](W a, W b) { return join_by(work.op, a, b); });
    if (groups.lane != 0) continue;
    if (work.parts == 1) {
      out[output] = finished<T>(total, work.factor);
    } else {
      partial[part * work.outputs + output] = total;
    }
  }
}

/// Blocks on a multiprocessor at a time.
constexpr int kColumnBlocks = 4;

/// Threads x of a block have V outputs each, side by side; threads y have every so many-th row of
/// the block's part.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads, kColumnBlocks)
    columns_kernel(T* out, Total<T>* partial, const T* x, const __grid_constant__ Work work) {
  using W = Total<T>;
  __shared__ W shared[V][kThreads];
  const int across = work.threads;
  const int down = kThreads / across;
  const int self = static_cast<int>(threadIdx.x);
  const int row = self / across;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * across + self % across;
  const std::int64_t part = blockIdx.y;
  const bool within = column * V < work.outputs;
  W totals[V];
  if (within) {
    const std::int64_t rows = work.reduced.count();
    gather_by(work.op, x + work.kept.at(column), work.reduced, rows * part / work.parts + row,
              rows * (part + 1) / work.parts, down, totals);
#pragma unroll
    for (int v = 0; v < V; ++v) shared[v][self] = totals[v];
  }
  for (int half = down / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half && within) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        totals[v] = join_by(work.op, totals[v], shared[v][self + half * across]);
        shared[v][self] = totals[v];
      }
    }
  }
  if (row != 0 || !within) return;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (work.parts == 1) {
      out[column * V + v] = finished<T>(totals[v], work.factor);
    } else {
      partial[part * work.outputs + column * V + v] = totals[v];
    }
  }
}

/// The same for sums over all rows of a matrix of floats, which gradients of biases are: `pitch` is
/// how far rows are apart. Some are on their way while the last ones are added.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads, kColumnBlocks)
    sum_columns_kernel(T* out, Total<T>* partial, const T* x, std::int64_t rows, std::int64_t pitch,
                       std::int64_t outputs, std::int64_t parts, int across, double factor) {
  constexpr int U = 4;
  __shared__ Total<T> shared[V][kThreads];
  const int down = kThreads / across;
  const int self = static_cast<int>(threadIdx.x);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * across + self % across;
  const std::int64_t part = blockIdx.y;
  const std::int64_t begin = rows * part / parts + self / across;
  const std::int64_t end = rows * (part + 1) / parts;
  const std::int64_t step = down * pitch;
  Lane<T> lanes[V] = {};
  if (column * V < outputs && begin < end) {
    int left = static_cast<int>((end - begin + down - 1) / down);
    const T* at = x + begin * pitch + column * V;
    Vec<T, V> raw[U] = {};
    const auto load = [&](Vec<T, V>(&to)[U]) {
#pragma unroll
      for (int u = 0; u < U; ++u) {
        if (u < left) to[u] = load_vec<V>(at + u * step);
      }
    };
    load(raw);
    as_they_are(raw);
    while (left > U) {
      left -= U;
      at += U * step;
      Vec<T, V> next[U] = {};
      load(next);
      as_they_are(next);
#pragma unroll
      for (int u = 0; u < U; ++u) {
#pragma unroll
        for (int v = 0; v < V; ++v) lanes[v] += static_cast<Lane<T>>(widen(raw[u].lane[v]));
        raw[u] = next[u];
      }
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (u < left) {
#pragma unroll
        for (int v = 0; v < V; ++v) lanes[v] += static_cast<Lane<T>>(widen(raw[u].lane[v]));
      }
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) shared[v][self] = static_cast<Total<T>>(lanes[v]);
  __syncthreads();
  for (int i = self; i < across * V; i += kThreads) {
    const int lane = i % across;
    const int v = i / across;
    Total<T> total = shared[v][lane];
    for (int row = 1; row < down; ++row) total += shared[v][row * across + lane];
    const std::int64_t output = (static_cast<std::int64_t>(blockIdx.x) * across + lane) * V + v;
    if (output >= outputs) continue;
    if (parts == 1) {
      out[output] = finished<T>(total, factor);
    } else {
      partial[part * outputs + output] = total;
    }
  }
}

/// The parts of each output: threads x of a block have one output each, threads y some parts.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    parts_kernel(T* out, const Total<T>* partial, std::int64_t outputs, std::int64_t parts,
                 int across, Join op, double factor) {
  using W = Total<T>;
  __shared__ W shared[kThreads];
  const int down = kThreads / across;
  const int self = static_cast<int>(threadIdx.x);
  const int row = self / across;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * across + self % across;
  W total = start_by<W>(op);
  if (output < outputs) {
    // Several loads before the first is waited for.
    constexpr int U = 8;
    for (std::int64_t first = row; first < parts; first += U * down) {
      W held[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const std::int64_t part = first + u * down;
        held[u] = part < parts ? partial[part * outputs + output] : start_by<W>(op);
      }
#pragma unroll
      for (int u = 0; u < U; ++u) total = join_by(op, total, held[u]);
    }
  }
  shared[self] = total;
  for (int half = down / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half) {
      total = join_by(op, total, shared[self + half * across]);
      shared[self] = total;
    }
  }
  if (row == 0 && output < outputs) out[output] = finished<T>(total, factor);
}

std::int64_t power_from(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

/// How a reduction is run, by shape and dtype alone.
struct Plan {
  Work work;
  bool by_rows = true;
  bool vectors = false;

  Plan(const TensorType& in, const std::vector<std::int64_t>& axes) {
    const ReduceLayout plain(in.shape, axes);
    const int vector = is_floating(in.dtype) ? 16 / static_cast<int>(dtype_size(in.dtype)) : 1;
    vectors = vector > 1 && plain.inner % vector == 0;
    const ReduceLayout layout(in.shape, axes, vectors ? vector : 1);
    by_rows = plain.inner_reduced;
    work.kept = layout.kept;
    work.reduced = layout.reduced;
    work.outputs = plain.kept.count();
    const std::int64_t units = layout.reduced.count();
    if (by_rows) {
      work.threads = units <= 8 ? 1 : (units <= 1024 ? 32 : kThreads);
      if (work.threads == kThreads && work.outputs < kFull / 4) {
        const std::int64_t most = (units + kThreads * 8 - 1) / (kThreads * 8);
        work.parts = std::min(most, (kFull + work.outputs - 1) / work.outputs);
      }
    } else {
      const std::int64_t columns = layout.kept.count();
      // As many rows at a time as there are, but whole warps side by side where there are columns.
      std::int64_t down = columns >= 32 ? 8 : kThreads / power_from(columns);
      while (down > 1 && down * 4 > units) down /= 2;
      work.threads = static_cast<int>(kThreads / down);
      const std::int64_t blocks = (columns + work.threads - 1) / work.threads;
      const std::int64_t most = (units + down * 8 - 1) / (down * 8);
      // No more blocks than run at a time, so that none is left over.
      work.parts = std::clamp<std::int64_t>(132 * kColumnBlocks / blocks, 1, most);
    }
  }
  Bytes workspace() const {
    return work.parts == 1 ? 0 : static_cast<Bytes>(work.outputs * work.parts) * 8;
  }

 private:
  /// Blocks that keep any GPU of today busy; a constant, so that results are the same on all.
  static constexpr std::int64_t kFull = 1056;
};

template <typename T, int V>
void launch(const KernelContext& k, const Plan& plan) {
  const Work& work = plan.work;
  T* out = k.out(0).as<T>();
  const T* x = k.in(0).as<const T>();
  auto* partial = static_cast<Total<T>*>(k.workspace);
  if (plan.by_rows) {
    const unsigned blocks = blocks_of_groups(work.outputs * work.parts, work.threads);
    rows_kernel<T, V><<<blocks, kThreads, 0, queue_of(k)>>>(out, partial, x, work);
  } else {
    const std::int64_t columns = work.outputs / V;
    const dim3 grid(static_cast<unsigned>((columns + work.threads - 1) / work.threads),
                    static_cast<unsigned>(work.parts));
    bool summed = false;
    if constexpr (!std::is_integral_v<T> && V > 1) {
      summed = work.op == Join::sum && work.kept.rank == 1 && work.reduced.rank == 1;
      if (summed) {
        sum_columns_kernel<T, V><<<grid, kThreads, 0, queue_of(k)>>>(
            out, partial, x, work.reduced.extent[0], work.reduced.stride[0], work.outputs,
            work.parts, work.threads, work.factor);
      }
    }
    if (!summed) columns_kernel<T, V><<<grid, kThreads, 0, queue_of(k)>>>(out, partial, x, work);
  }
  check_launch("reduction");
  if (work.parts == 1) return;
  auto across = static_cast<int>(std::min<std::int64_t>(32, power_from(work.outputs)));
  while (across > 8 && work.outputs / across < 132) across /= 2;
  const auto blocks = static_cast<unsigned>((work.outputs + across - 1) / across);
  parts_kernel<T><<<blocks, kThreads, 0, queue_of(k)>>>(out, partial, work.outputs, work.parts,
                                                        across, work.op, work.factor);
  check_launch("reduction");
}

/// `nothing` is the result over no elements.
template <typename T>
void run_reduction(const KernelContext& k, Join op, double factor, double nothing) {
  if (k.out(0).elements() == 0) return;
  if (k.in(0).elements() == 0) return fill(k.out(0), nothing, queue_of(k));
  Plan plan(k.in(0).type, k.attributes.integers("axes"));
  plan.work.op = op;
  plan.work.factor = factor;
  if constexpr (std::is_integral_v<T>) {
    launch<T, 1>(k, plan);
  } else {
    plan.vectors ? launch<T, kVector<T>>(k, plan) : launch<T, 1>(k, plan);
  }
}

std::shared_ptr<const ops::KernelState> prepare_reduction(const ops::OpInputs& inputs,
                                                          std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  if (inputs[0].elements() == 0) return state;
  state->workspace = Plan(inputs[0], inputs.attributes().integers("axes")).workspace();
  return state;
}

template <Join J>
void run_numbers(const KernelContext& k) {
  with_number(k.out(0).dtype(),
              [&]<typename T>() { run_reduction<T>(k, J, 1, J == Join::prod ? 1 : 0); });
}
void run_mean(const KernelContext& k) {
  const double count = static_cast<double>(k.in(0).elements()) /
                       static_cast<double>(std::max<std::int64_t>(1, k.out(0).elements()));
  with_float(k.out(0).dtype(), [&]<typename T>() {
    run_reduction<T>(k, Join::sum, 1 / count, std::numeric_limits<double>::quiet_NaN());
  });
}
void run_all(const KernelContext& k) { run_reduction<bool>(k, Join::prod, 1, 1); }
void run_any(const KernelContext& k) { run_reduction<bool>(k, Join::sum, 1, 0); }

void add_kernels(KernelTable& table) {
  table.add("sum", {run_numbers<Join::sum>, prepare_reduction});
  table.add("mean", {run_mean, prepare_reduction});
  table.add("max", {run_numbers<Join::max>, prepare_reduction});
  table.add("min", {run_numbers<Join::min>, prepare_reduction});
  table.add("prod", {run_numbers<Join::prod>, prepare_reduction});
  table.add("all", {run_all, prepare_reduction});
  table.add("any", {run_any, prepare_reduction});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
