// scatter_add without atomics: positions are sorted by the index they name, which keeps their order
// among equals, and each element of the result adds up its updates in order of position, as the CPU
// does. Indices outside the dimension add to nothing.
#include <cub/device/device_radix_sort.cuh>

#include <bit>
#include <string>

#include <plimsoll/ops/scatter_workspace.h>

#include "backend/cuda/kernels/gather.cuh"
#include "backend/cuda/kernels/rows.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kInFlight = 8;

using Number = std::uint32_t;

/// The workspace in parts.
struct Parts {
  Number* keys[2];
  Number* order[2];
  Number* starts;  ///< extent + 1: where the positions of each index begin in the order
  void* sorting;

  Parts(void* workspace, const ops::ScatterWorkspace& w) {
    auto* at = static_cast<std::byte*>(workspace);
    const auto next = [&at](Bytes bytes) {
      void* const here = at;
      at += bytes;
      return here;
    };
    for (auto& array : keys) array = static_cast<Number*>(next(w.per_position));
    for (auto& array : order) array = static_cast<Number*>(next(w.per_position));
    starts = static_cast<Number*>(next(w.per_index));
    sorting = next(w.sorting);
  }
};

int bits_for(std::int64_t extent) { return std::bit_width(static_cast<std::uint64_t>(extent)); }

/// Keys of positions outside are `extent`, so that they come last.
__global__ void __launch_bounds__(kThreads)
    number_positions(Number* keys, Number* order, Indices indices, std::int64_t positions,
                     std::int64_t extent) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < positions; i += stride) {
    const std::int64_t index = indices[i];
    keys[i] = static_cast<Number>(index >= 0 && index < extent ? index : extent);
    order[i] = static_cast<Number>(i);
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

void run_scatter_add(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const cudaStream_t queue = queue_of(k);
  const std::int64_t positions = k.in(1).elements();
  if (positions == 0) {
    check(cudaMemsetAsync(k.out(0).data, 0, k.out(0).type.bytes(), queue), "scatter_add");
    return;
  }
  const Around shape = around(k.out(0).shape(), k.attributes.integer("axis"));
  const auto sizes = ops::ScatterWorkspace::of(positions, shape.extent);
  const Parts parts(k.workspace, sizes);
  number_positions<<<blocks_for(positions), kThreads, 0, queue>>>(
      parts.keys[0], parts.order[0], indices_of(k.in(1)), positions, shape.extent);
  cub::DoubleBuffer<Number> keys(parts.keys[0], parts.keys[1]);
  cub::DoubleBuffer<Number> order(parts.order[0], parts.order[1]);
  std::size_t bytes = sizes.sorting;
  check(cub::DeviceRadixSort::SortPairs(parts.sorting, bytes, keys, order,
                                        static_cast<int>(positions), 0, bits_for(shape.extent),
                                        queue),
        "scatter_add");
  find_starts<<<blocks_for(shape.extent + 1), kThreads, 0, queue>>>(parts.starts, keys.Current(),
                                                                    positions, shape.extent);
  const DType dtype = k.out(0).dtype();
  if (is_floating(dtype)) {
    with_float(dtype, [&]<typename T>() { add_all<T>(k, shape, parts.starts, order.Current()); });
  } else {
    // Sums wrap around, with or without a sign.
    with_size(dtype_size(dtype),
              [&]<typename T>() { add_all<T>(k, shape, parts.starts, order.Current()); });
  }
  check_launch("scatter_add");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType> outputs) {
  auto state = std::make_shared<ops::KernelState>();
  const std::int64_t positions = inputs[1].elements();
  const Around shape = around(outputs[0].shape, inputs.attributes().integer("axis"));
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (positions >= kMost || shape.extent >= kMost) {
    inputs.fail("on a GPU, indices and the dimension they are for must number less than 2^31");
  }
  if (positions == 0 || outputs[0].elements() == 0) return state;
  const auto sizes = ops::ScatterWorkspace::of(positions, shape.extent);
  cub::DoubleBuffer<Number> none(nullptr, nullptr);
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, none, static_cast<int>(positions), 0,
                                        bits_for(shape.extent)),
        "scatter_add");
  if (bytes > sizes.sorting) {
    throw InternalError("[scatter_add] sorting " + std::to_string(positions) + " positions takes " +
                        std::to_string(bytes) + " bytes, more than the " +
                        std::to_string(sizes.sorting) + " that plans count on");
  }
  state->workspace = sizes.total();
  return state;
}

void add_kernels(KernelTable& table) { table.add("scatter_add", {run_scatter_add, prepare}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
