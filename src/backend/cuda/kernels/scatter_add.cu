// scatter_add and embedding_bag_grad without atomics: positions are sorted by the index they name,
// which keeps their order among equals, and each element of the result adds up its updates in order
// of position, as the CPU does. Indices outside the dimension add to nothing.
#include "backend/cuda/kernels/position_sort.cuh"
#include "backend/cuda/kernels/rows.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kInFlight = 8;

/// Keys of positions outside, and of padding, are `extent`, so that they come last. With bags, the
/// order is of bags.
__global__ void __launch_bounds__(kThreads)
    number_positions(Number* keys, Number* order, Indices indices, std::int64_t positions,
                     std::int64_t extent, const Bags bags) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < positions; i += stride) {
    const std::int64_t index = indices[i];
    const bool counts = index >= 0 && index < extent && !bags.skips(index);
    keys[i] = static_cast<Number>(counts ? index : extent);
    order[i] = static_cast<Number>(bags.bag(i));
  }
}

/// starts[i]: how many sorted keys are below i.
__global__ void __launch_bounds__(kThreads)
    find_starts(Number* starts, const Number* keys, std::int64_t positions, std::int64_t extent) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i <= extent;
       i += stride) {
    Number low = 0;
    auto high = static_cast<Number>(positions);
    while (low < high) {
      const Number middle = low + (high - low) / 2;
      if (keys[middle] < static_cast<Number>(i)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[i] = low;
  }
}

template <typename T, int V>
__device__ __forceinline__ void add_to(Acc<T> (&sums)[V], const Vec<T, V>& update) {
#pragma unroll
  for (int i = 0; i < V; ++i) {
    sums[i] = static_cast<Acc<T>>(sums[i] + widen(update.lane[i]));
  }
}

/// V elements of the result per thread.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    add_updates(T* to, const T* updates, const Number* starts, const Number* order,
                std::int64_t positions, std::int64_t extent, std::int64_t inner,
                std::int64_t vectors, bool aligned) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < vectors;
       i += stride) {
    const Split row = split(i, inner / V);
    const Split place = split(row.quotient, extent);
    const T* from = updates + place.quotient * positions * inner + row.remainder * V;
    Number p = starts[place.remainder];
    const Number end = starts[place.remainder + 1];
    Acc<T> sums[V] = {};
    for (; p + kInFlight <= end; p += kInFlight) {
      Vec<T, V> held[kInFlight];
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) {
        held[j] = load_some<V>(from + static_cast<std::int64_t>(order[p + j]) * inner, aligned);
      }
#pragma unroll
      for (int j = 0; j < kInFlight; ++j) add_to<T, V>(sums, held[j]);
    }
    for (; p < end; ++p) {
      add_to<T, V>(sums, load_some<V>(from + static_cast<std::int64_t>(order[p]) * inner, aligned));
    }
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(sums[j]);
    store_some(to + i * V, result, aligned);
  }
}

template <typename T, int V>
void launch_add(const KernelContext& k, const Around& shape, const Number* starts,
                const Number* order) {
  const std::int64_t vectors = k.out(0).elements() / V;
  add_updates<T, V><<<blocks_for(vectors, kThreads, 132 * 64), kThreads, 0, queue_of(k)>>>(
      k.out(0).as<T>(), k.in(0).as<const T>(), starts, order, k.in(1).elements(), shape.extent,
      shape.inner, vectors, all_aligned({k.out(0).data, k.in(0).data}));
}

template <typename T>
void add_all(const KernelContext& k, const Around& shape, const Number* starts,
             const Number* order) {
  if constexpr (sizeof(T) < 8) {
    if (whole_vectors<T>(shape.inner)) return launch_add<T, kVector<T>>(k, shape, starts, order);
  }
  launch_add<T, 1>(k, shape, starts, order);
}

void scatter(const KernelContext& k, std::int64_t axis, const char* name) {
  if (k.out(0).elements() == 0) return;
  const cudaStream_t queue = queue_of(k);
  const std::int64_t positions = k.in(1).elements();
  if (positions == 0) {
    check(cudaMemsetAsync(k.out(0).data, 0, k.out(0).type.bytes(), queue), name);
    return;
  }
  const Around shape = around(k.out(0).shape(), axis);
  const auto sizes = ops::ScatterWorkspace::of(positions, shape.extent);
  const SortParts parts(k.workspace, sizes);
  number_positions<<<blocks_for(positions), kThreads, 0, queue>>>(
      parts.keys[0], parts.order[0], indices_of(k.in(1)), positions, shape.extent,
      Bags::of(k.attributes, k.in(1).shape()));
  const SortedPositions sorted = sort_positions(parts, sizes, positions, shape.extent, queue, name);
  find_starts<<<blocks_for(shape.extent + 1), kThreads, 0, queue>>>(parts.starts, sorted.keys,
                                                                    positions, shape.extent);
  const DType dtype = k.out(0).dtype();
  if (is_floating(dtype)) {
    with_float(dtype, [&]<typename T>() { add_all<T>(k, shape, parts.starts, sorted.order); });
  } else {
    // Sums wrap around, with or without a sign.
    with_size(dtype_size(dtype),
              [&]<typename T>() { add_all<T>(k, shape, parts.starts, sorted.order); });
  }
  check_launch(name);
}

void run_scatter_add(const KernelContext& k) {
  scatter(k, k.attributes.integer("axis"), "scatter_add");
}
void run_embedding_bag_grad(const KernelContext& k) { scatter(k, 0, "embedding_bag_grad"); }

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType> outputs) {
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t positions = inputs[1].elements();
  const ops::Attributes& attributes = inputs.attributes();
  const Around shape =
      around(outputs[0].shape, attributes.has("axis") ? attributes.integer("axis") : 0);
  if (outputs[0].elements() == 0) return state;
  state->workspace = checked_sort_workspace(inputs, positions, shape.extent,
                                            ops::ScatterWorkspace::of(positions, shape.extent));
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("scatter_add", {run_scatter_add, prepare});
  table.add("embedding_bag_grad", {run_embedding_bag_grad, prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
