// The steps of optimizers for rows of a table, without atomics: ids are sorted, which keeps the
// order of equal ones; where those of a row begin, a few threads add up its gradients in that
// order, as scatter_add and embedding_bag_grad do, and update it. Ids outside the table change
// nothing. Also the step of a whole table that leaves out rows without a gradient.
#include "backend/cuda/kernels/optimizer_rules.cuh"
#include "backend/cuda/kernels/position_sort.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kInFlight = 8;

template <typename T, int V>
__device__ __forceinline__ bool is_zero(const Vec<T, V>& some) {
  bool zero = true;
#pragma unroll
  for (int i = 0; i < V; ++i) zero = zero && widen(some.lane[i]) == Acc<T>(0);
  return zero;
}

/// Whether f(at), the gradient of V columns from `at` on, is 0 in all of a row.
template <int V, typename F>
__device__ __forceinline__ bool row_is_zero(const Lanes& lanes, std::int64_t inner, F f) {
  for (std::int64_t first = 0; first < inner; first += lanes.count * V) {
    const std::int64_t at = first + lanes.lane() * V;
    const bool zero = at >= inner || is_zero(f(at));
    if (!__all_sync(lanes.mask(), zero)) return false;
  }
  return true;
}

/// Keys of ids outside, of padding, and of those with a gradient of 0, which changes no sum, are
/// `extent`: they come last. The order is of gradients.
template <typename G, int V>
__global__ void __launch_bounds__(kThreads)
    number_rows(Number* keys, Number* order, Indices ids, const G* gradients,
                std::int64_t positions, std::int64_t extent, std::int64_t inner, bool aligned,
                const Bags bags, const Lanes lanes) {
  for (std::int64_t i = lanes.first(); i < positions; i += lanes.stride()) {
    const std::int64_t id = ids[i];
    const std::int64_t bag = bags.bag(i);
    const G* const row = gradients + bag * inner;
    const bool counts = id >= 0 && id < extent && !bags.skips(id) &&
                        !row_is_zero<V>(lanes, inner, [&](std::int64_t at) {
                          return load_some<V>(row + at, aligned);
                        });
    if (lanes.lane() != 0) continue;
    keys[i] = static_cast<Number>(counts ? id : extent);
    order[i] = static_cast<Number>(bag);
  }
}

/// The sum of V columns over the positions from `first` on that name the same row.
template <typename G, int V>
__device__ __forceinline__ Vec<G, V> sum_of(const G* from, const SortedPositions& sorted,
                                            std::int64_t first, std::int64_t positions,
                                            std::int64_t inner, bool aligned) {
  const Number key = sorted.keys[first];
  std::int64_t p = first;
  Acc<G> sums[V] = {};
  const auto add = [&](const Vec<G, V>& more) {
#pragma unroll
    for (int i = 0; i < V; ++i) sums[i] = rounded::add(sums[i], widen(more.lane[i]));
  };
  const auto load = [&](std::int64_t at) {
    return load_some<V>(from + static_cast<std::int64_t>(sorted.order[at]) * inner, aligned);
  };
  for (; p + kInFlight <= positions && sorted.keys[p + kInFlight - 1] == key; p += kInFlight) {
    Vec<G, V> held[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) held[j] = load(p + j);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) add(held[j]);
  }
  for (; p < positions && sorted.keys[p] == key; ++p) add(load(p));
  Vec<G, V> result;
#pragma unroll
  for (int i = 0; i < V; ++i) result.lane[i] = narrow<G>(sums[i]);
  return result;
}

/// Updates V elements from `at` on.
template <typename Rule, typename T, typename G, int V>
__device__ __forceinline__ void step_some(const Update<T>& u, std::int64_t at,
                                          const Vec<G, V>& gradient, const Settings<T>& c) {
  Vec<T, V> p = load_some<V>(u.p + at, u.aligned);
  Vec<T, V> first{};
  Vec<T, V> second{};
  if constexpr (Rule::kStates > 0) first = load_some<V>(u.first + at, u.aligned);
  if constexpr (Rule::kStates > 1) second = load_some<V>(u.second + at, u.aligned);
#pragma unroll
  for (int i = 0; i < V; ++i) {
    Rule::template step<T>(p.lane[i], first.lane[i], second.lane[i],
                           static_cast<T>(widen(gradient.lane[i])), c);
  }
  store_some(u.p + at, p, u.aligned);
  if constexpr (Rule::kStates > 0) store_some(u.first + at, first, u.aligned);
  if constexpr (Rule::kStates > 1) store_some(u.second + at, second, u.aligned);
}

template <typename Rule, typename T, typename G, int V>
__global__ void __launch_bounds__(kThreads)
    update_rows(const Update<T> u, const SortedPositions sorted, std::int64_t positions,
                std::int64_t extent, std::int64_t inner, const Lanes lanes) {
  if (u.enable != nullptr && !*u.enable) return;
  const Settings<T> c = settings_of(u);
  for (std::int64_t i = lanes.first(); i < positions; i += lanes.stride()) {
    const Number key = sorted.keys[i];
    if (key >= static_cast<Number>(extent) || (i > 0 && sorted.keys[i - 1] == key)) continue;
    const auto gradient = [&](std::int64_t at) {
      return sum_of<G, V>(static_cast<const G*>(u.gradient) + at, sorted, i, positions, inner,
                          u.aligned);
    };
    // Gradients that are not 0 may add up to 0, with which Adam would still move.
    if constexpr (std::is_same_v<Rule, Adam>) {
      if (row_is_zero<V>(lanes, inner, gradient)) continue;
    }
    for (std::int64_t at = lanes.lane() * V; at < inner; at += lanes.count * V) {
      step_some<Rule>(u, static_cast<std::int64_t>(key) * inner + at, gradient(at), c);
    }
  }
}

/// Every row that has a gradient.
template <typename T, typename G, int V>
__global__ void __launch_bounds__(kThreads)
    update_lazily(const Update<T> u, std::int64_t rows, std::int64_t inner, const Lanes lanes) {
  if (u.enable != nullptr && !*u.enable) return;
  const Settings<T> c = settings_of(u);
  for (std::int64_t row = lanes.first(); row < rows; row += lanes.stride()) {
    const auto gradient = [&](std::int64_t at) {
      return load_some<V>(static_cast<const G*>(u.gradient) + row * inner + at, u.aligned);
    };
    if (row_is_zero<V>(lanes, inner, gradient)) continue;
    for (std::int64_t at = lanes.lane() * V; at < inner; at += lanes.count * V) {
      step_some<Adam>(u, row * inner + at, gradient(at), c);
    }
  }
}

/// body<T, G, V>() for a table of T and gradients of G, V of them at a time.
template <typename Body>
void with_gradient(DType dtype, std::int64_t inner, Body&& body) {
  with_float(dtype, [&]<typename G>() {
    if constexpr (sizeof(G) == 8) {
      body.template operator()<double, G, 1>();
    } else if (whole_vectors<float>(inner)) {
      body.template operator()<float, G, kVector<float>>();
    } else {
      body.template operator()<float, G, 1>();
    }
  });
}

template <typename Rule>
void run_rows(const KernelContext& k, const char* name) {
  constexpr int kIds = Rule::kStates + 1;
  const std::int64_t positions = k.in(kIds).elements();
  if (positions == 0 || k.in(0).elements() == 0) return;
  const cudaStream_t queue = queue_of(k);
  const std::int64_t extent = k.in(0).shape()[0];
  const std::int64_t inner = k.in(0).elements() / extent;
  const auto sizes = ops::ScatterWorkspace::of(positions, 0);
  const SortParts parts(k.workspace, sizes);
  with_gradient(k.in(kIds + 1).dtype(), inner, [&]<typename T, typename G, int V>() {
    const Update<T> u = update_of<Rule, T>(k, kIds + 1);
    const Lanes lanes = Lanes::of(inner / V);
    number_rows<G, V><<<lanes.blocks(positions), kThreads, 0, queue>>>(
        parts.keys[0], parts.order[0], indices_of(k.in(kIds)), static_cast<const G*>(u.gradient),
        positions, extent, inner, u.aligned, Bags::of(k.attributes, k.in(kIds).shape()), lanes);
    const SortedPositions sorted = sort_positions(parts, sizes, positions, extent, queue, name);
    update_rows<Rule, T, G, V><<<lanes.blocks(positions), kThreads, 0, queue>>>(
        u, sorted, positions, extent, inner, lanes);
  });
  check_launch(name);
}

void run_lazy_adam(const KernelContext& k) {
  if (k.in(0).elements() == 0) return;
  constexpr int kGradient = Adam::kStates + 1;
  const std::int64_t rows = k.in(0).shape()[0];
  const std::int64_t inner = k.in(0).elements() / rows;
  with_gradient(k.in(kGradient).dtype(), inner, [&]<typename T, typename G, int V>() {
    const Lanes lanes = Lanes::of(inner / V);
    update_lazily<T, G, V><<<lanes.blocks(rows), kThreads, 0, queue_of(k)>>>(update_of<Adam, T>(k),
                                                                             rows, inner, lanes);
  });
  check_launch("lazy_adam_update");
}

template <int States>
std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t positions = inputs[States + 1].elements();
  if (inputs[0].elements() == 0) return state;
  state->workspace = checked_sort_workspace(inputs, positions, inputs.shape(0)[0],
                                            ops::ScatterWorkspace::of(positions, 0));
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("sgd_update_rows",
            {[](const KernelContext& k) { run_rows<Sgd>(k, "sgd_update_rows"); }, prepare<0>});
  table.add(
      "adagrad_update_rows",
      {[](const KernelContext& k) { run_rows<Adagrad>(k, "adagrad_update_rows"); }, prepare<1>});
  table.add(
      "lazy_adam_update_rows",
      {[](const KernelContext& k) { run_rows<Adam>(k, "lazy_adam_update_rows"); }, prepare<2>});
  table.add("lazy_adam_update", {run_lazy_adam});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
