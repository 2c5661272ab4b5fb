// embedding_bag: a few threads for each bag add up its rows in order, several of them in flight. An
// id outside the table gives NaN.
#include "backend/cuda/kernels/gather.cuh"
#include "backend/cuda/kernels/rows.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kInFlight = 4;

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    sum_bags(T* to, const T* table, Indices ids, std::int64_t count, std::int64_t extent,
             std::int64_t inner, bool aligned, const Bags bags, const Lanes lanes) {
  using A = Acc<T>;
  for (std::int64_t i = lanes.first(); i < count; i += lanes.stride()) {
    for (std::int64_t at = lanes.lane() * V; at < inner; at += lanes.count * V) {
      A sums[V] = {};
      for (std::int64_t first = 0; first < bags.size; first += kInFlight) {
        Vec<T, V> held[kInFlight];
        bool counts[kInFlight];
        bool inside = true;
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          counts[j] = first + j < bags.size;
          if (!counts[j]) continue;
          const std::int64_t id = ids[i * bags.size + first + j];
          counts[j] = !bags.skips(id);
          if (!counts[j]) continue;
          inside = inside && id >= 0 && id < extent;
          counts[j] = id >= 0 && id < extent;
          if (counts[j]) held[j] = load_some<V>(table + id * inner + at, aligned);
        }
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          if (!counts[j]) continue;
#pragma unroll
          for (int c = 0; c < V; ++c) sums[c] = rounded::add(sums[c], widen(held[j].lane[c]));
        }
        if (!inside) {
#pragma unroll
          for (int c = 0; c < V; ++c) sums[c] = static_cast<A>(NAN);
        }
      }
      Vec<T, V> result;
#pragma unroll
      for (int c = 0; c < V; ++c) result.lane[c] = narrow<T>(sums[c]);
      store_some(to + i * inner + at, result, aligned);
    }
  }
}

template <typename T, int V>
void launch(const KernelContext& k, const Bags& bags) {
  const Around table = around(k.in(0).shape(), 0);
  const std::int64_t count = k.in(1).elements() / bags.size;
  const Lanes lanes = Lanes::of(table.inner / V);
  sum_bags<T, V><<<lanes.blocks(count), kThreads, 0, queue_of(k)>>>(
      k.out(0).as<T>(), k.in(0).as<const T>(), indices_of(k.in(1)), count, table.extent,
      table.inner, all_aligned({k.out(0).data, k.in(0).data}), bags, lanes);
}

void run_embedding_bag(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Bags bags = Bags::of(k.attributes, k.in(1).shape());
  with_float(k.out(0).dtype(), [&]<typename T>() {
    if constexpr (sizeof(T) < 8) {
      if (whole_vectors<T>(around(k.in(0).shape(), 0).inner)) return launch<T, kVector<T>>(k, bags);
    }
    launch<T, 1>(k, bags);
  });
  check_launch("embedding_bag");
}

void add_kernels(KernelTable& table) { table.add("embedding_bag", {run_embedding_bag}); }

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
