// sort: blocks sort tiles of places in shared memory; longer rows are then merged, run by run, each
// place finding its own by a search in the run beside its own. Places break ties, so that no two
// are equal and the order is that of a stable sort.
#include <plimsoll/ops/sort_workspace.h>

#include "backend/cuda/kernels/dtype.cuh"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/split.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kTile = static_cast<int>(ops::kSortTile);

/// The smaller first, NaN behind all; among equal ones the lower place.
template <typename A>
__device__ __forceinline__ bool before(A a, std::int64_t a_place, A b, std::int64_t b_place,
                                       bool descending) {
  const bool less = a < b || (b != b && a == a);
  const bool more = b < a || (a != a && b == b);
  if (less != more) return descending ? more : less;
  return a_place < b_place;
}

/// A tile of a row per block: its places in order.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sort_tiles(std::int64_t* places, const T* x, std::int64_t size, std::int64_t tiles_each,
               std::int64_t tiles, bool descending) {
  __shared__ Acc<T> keys[kTile];
  __shared__ int order[kTile];
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const Split row = split(t, tiles_each);
    const std::int64_t first = row.remainder * kTile;
    const int count = static_cast<int>(size - first < kTile ? size - first : kTile);
    const std::int64_t base = row.quotient * size + first;
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kThreads) {
      order[i] = i;
      if (i < count) keys[i] = widen(x[base + i]);
    }
    __syncthreads();
    // Places from `count` on are behind all others and are never asked for a key.
    const auto precedes = [&](int a, int b) {
      if (a >= count || b >= count) return a < b;
      return before(keys[a], a, keys[b], b, descending);
    };
    for (int width = 2; width <= kTile; width *= 2) {
      for (int distance = width / 2; distance > 0; distance /= 2) {
        for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kThreads) {
          const int other = i ^ distance;
          if (other <= i) continue;
          const bool rising = (i & width) == 0;
          const int low = order[i];
          const int high = order[other];
          if (precedes(high, low) == rising) {
            order[i] = high;
            order[other] = low;
          }
        }
        __syncthreads();
      }
    }
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
      places[base + i] = first + order[i];
    }
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    merge_runs(std::int64_t* to, const std::int64_t* from, const T* x, std::int64_t size,
               std::int64_t elements, std::int64_t width, bool descending) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i < elements; i += step) {
    const Split at = split(i, size);
    const std::int64_t base = at.quotient * size;
    const std::int64_t run = at.remainder / width;
    const std::int64_t other = (run ^ 1) * width;
    const std::int64_t place = from[i];
    const Acc<T> key = widen(x[base + place]);
    std::int64_t low = other < size ? other : size;
    const std::int64_t begin = low;
    std::int64_t high = other + width < size ? other + width : size;
    if (high < low) high = low;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const std::int64_t beside = from[base + middle];
      if (before(widen(x[base + beside]), beside, key, place, descending)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const std::int64_t own = at.remainder - run * width;
    to[base + run / 2 * 2 * width + own + (low - begin)] = place;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    take_values(T* values, const std::int64_t* places, const T* x, std::int64_t size,
                std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (; i < elements; i += step) values[i] = x[i - split(i, size).remainder + places[i]];
}

void run_sort(const KernelContext& k) {
  const std::int64_t elements = k.in(0).elements();
  if (elements == 0) return;
  const std::int64_t size = k.in(0).shape().dim(-1);
  const bool descending = k.attributes.flag("descending");
  const std::int64_t tiles_each = (size + kTile - 1) / kTile;
  const std::int64_t tiles = elements / size * tiles_each;
  int merges = 0;
  for (std::int64_t width = kTile; width < size; width *= 2) ++merges;
  auto* result = k.out(1).as<std::int64_t>();
  auto* scratch = static_cast<std::int64_t*>(k.workspace);
  std::int64_t* from = merges % 2 == 0 ? result : scratch;
  std::int64_t* to = merges % 2 == 0 ? scratch : result;
  with_number(k.in(0).dtype(), [&]<typename T>() {
    const T* x = k.in(0).as<const T>();
    sort_tiles<T><<<blocks_for(tiles, 1), kThreads, 0, queue_of(k)>>>(from, x, size, tiles_each,
                                                                      tiles, descending);
    for (std::int64_t width = kTile; width < size; width *= 2) {
      merge_runs<T><<<blocks_for(elements), kThreads, 0, queue_of(k)>>>(to, from, x, size, elements,
                                                                        width, descending);
      std::swap(from, to);
    }
    take_values<T><<<blocks_for(elements), kThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), result, x,
                                                                       size, elements);
  });
  check_launch("sort");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = ops::sort_workspace(inputs[0].elements(), inputs.shape(0).dim(-1));
  return state;
}

void add_kernels(KernelTable& table) { table.add("sort", {run_sort, prepare}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
