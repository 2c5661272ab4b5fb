// Batch normalisation: the statistics in one pass over x, the result in a second one, with the sum
// and the relu behind it where asked for. It may be written over x or what is added: who writes an
// element has read it.
//
// Chunks are merged as in Chan et al., "Updating formulae and a pairwise algorithm for computing
// sample variances".
#include "backend/cuda/kernels/batch_norm.cuh"

#include <math_constants.h>

#include "backend/cuda/kernels/spreads.cuh"
#include "backend/cuda/kernels/vectors.cuh"

namespace plimsoll::cuda {
namespace {

/// The mean of some values and the sum of squared distances from it.
template <typename A>
struct Spread {
  A count = 0;
  A mean = 0;
  A squares = 0;

  __device__ __forceinline__ void merge(const Spread& other) {
    if (other.count == A(0)) return;
    if (count == A(0)) {  // the distance from no mean, squared, may be infinite
      *this = other;
      return;
    }
    const A total = count + other.count;
    const A share = other.count / total;
    const A off = other.mean - mean;
    mean += off * share;
    squares += other.squares + off * off * count * share;
    count = total;
  }
};

/// parts: [chunks, 2, channels], means and squares.
template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    batch_spreads(Acc<T>* parts, const T* x, const Batch b) {
  chunk_spreads<T, V>(parts, x, b);
}

template <typename A>
__global__ void __launch_bounds__(kJoinChannels* kJoinLanes)
    merge_spreads(A* mean, A* variance, const A* parts, const Batch b) {
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kJoinChannels + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.y);
  Spread<A> mine;
  if (channel < b.channels) {
#pragma unroll 8
    for (int chunk = lane; chunk < b.chunks; chunk += kJoinLanes) {
      const A* part = parts + static_cast<std::int64_t>(chunk) * 2 * b.channels + channel;
      mine.merge({static_cast<A>(b.begin(chunk + 1) - b.begin(chunk)), part[0], part[b.channels]});
    }
  }
  __shared__ Spread<A> shared[kJoinLanes][kJoinChannels];
  shared[lane][threadIdx.x] = mine;
  __syncthreads();
#pragma unroll
  for (int apart = kJoinLanes / 2; apart > 0; apart /= 2) {
    if (lane < apart) {
      mine.merge(shared[lane + apart][threadIdx.x]);
      shared[lane][threadIdx.x] = mine;
    }
    __syncthreads();
  }
  if (lane != 0 || channel >= b.channels) return;
  mean[channel] = mine.count == A(0) ? static_cast<A>(CUDART_NAN_F) : mine.mean;
  variance[channel] = mine.squares / mine.count;
}

/// What happens to a normalised element.
template <typename T>
struct Behind {
  const T* more = nullptr;  ///< is added, if Adds
  bool relu = false;
};

template <typename T, int V, bool Adds>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    batch_normalize(T* y, const T* x, Parameters scales, Parameters biases, const Acc<T>* means,
                    const Acc<T>* variances, Acc<T> epsilon, Behind<T> behind, const Batch b) {
  using A = Acc<T>;
  constexpr int kLoads = Adds ? 3 : 5;
  const BatchThread<V> t(b);
  if (!t.here) return;
  A mean[V];
  A factor[V];
  A bias[V];
  A variance[V];
  load_channels(means, t.channel, mean);
  load_channels(variances, t.channel, variance);
  load_parameters<T>(scales, t.channel, factor, true);
  load_parameters<T>(biases, t.channel, bias, true);
#pragma unroll
  for (int i = 0; i < V; ++i) factor[i] = batch_factor(factor[i], variance[i], epsilon);
  Vec<T, V> held[kLoads];
  Vec<T, V> more[Adds ? kLoads : 1];
  t.template for_rows<kLoads>(
      b,
      [&](int j, std::int64_t at) {
        held[j] = load_vec<V>(x + at);
        if constexpr (Adds) more[j] = load_vec<V>(behind.more + at);
      },
      [&](int j, std::int64_t at) {
        A value[V];
#pragma unroll
        for (int i = 0; i < V; ++i) {
          value[i] = batch_normalised(held[j].lane[i], mean[i], factor[i], bias[i]);
        }
        if constexpr (Adds) {
          const Vec<T, V> before = narrow_all<T>(value);
#pragma unroll
          for (int i = 0; i < V; ++i) {
            value[i] = rounded::add(widen(before.lane[i]), widen(more[j].lane[i]));
          }
        }
        // What is rounded afterwards has the same sign, or is 0. NaN stays.
        if (behind.relu) {
#pragma unroll
          for (int i = 0; i < V; ++i) value[i] = value[i] <= A(0) ? A(0) : value[i];
        }
        store_vec(y + at, narrow_all<T>(value));
      });
}

template <typename T, int V>
void find_statistics(const KernelContext& k, const Batch& b, Acc<T>* mean, Acc<T>* variance) {
  using A = Acc<T>;
  const T* x = k.in(0).as<const T>();
  auto* parts = static_cast<A*>(k.workspace);
  batch_spreads<T, V><<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(parts, x, b);
  merge_spreads<A><<<join_blocks(b), dim3(kJoinChannels, kJoinLanes), 0, queue_of(k)>>>(
      mean, variance, parts, b);
}

/// x, scale and bias are the first inputs.
template <typename T, int V>
void normalize(const KernelContext& k, const Batch& b, const Acc<T>* mean, const Acc<T>* variance,
               const Behind<T>& behind) {
  if (b.rows == 0) return;
  const DType dtype = k.in(0).dtype();
  const T* x = k.in(0).as<const T>();
  const auto scale = parameters_of(k.in(1), dtype);
  const auto bias = parameters_of(k.in(2), dtype);
  const auto launch = [&](auto kernel) {
    kernel<<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), x, scale, bias, mean, variance,
        static_cast<Acc<T>>(k.attributes.number("epsilon")), behind, b);
  };
  behind.more != nullptr ? launch(batch_normalize<T, V, true>)
                         : launch(batch_normalize<T, V, false>);
}

/// Training and inference: x, scale, bias and, for the latter, mean and variance.
void run_batch_norm(const KernelContext& k) {
  const bool given = k.inputs.size() > 3;
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    A* mean = given ? k.in(3).as<A>() : k.out(1).as<A>();
    A* variance = given ? k.in(4).as<A>() : k.out(2).as<A>();
    if (!given) find_statistics<T, V>(k, b, mean, variance);
    normalize<T, V>(k, b, mean, variance, {});
  });
  check_launch(given ? "batch_norm_inference" : "batch_norm");
}

void run_statistics(const KernelContext& k) {
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    find_statistics<T, V>(k, b, k.out(0).as<Acc<T>>(), k.out(1).as<Acc<T>>());
  });
  check_launch("batch_norm_statistics");
}

/// x, scale, bias, mean, variance and perhaps what is added.
void run_apply(const KernelContext& k) {
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    normalize<T, V>(k, b, k.in(3).as<const Acc<T>>(), k.in(4).as<const Acc<T>>(),
                    {.more = k.inputs.size() > 5 ? k.in(5).as<const T>() : nullptr,
                     .relu = k.attributes.flag("relu")});
  });
  check_launch("batch_norm_apply");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  const Batch b =
      batch_of(inputs.shape(0), inputs.dtype(0), inputs.attributes().flag("channels_last"));
  state->workspace = static_cast<Bytes>(2 * b.chunks * b.channels) *
                     std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  if (state->workspace > ops::kWorkspaceSlot - ops::kWorkspaceReserve) {
    inputs.fail("has too many channels for a GPU's workspace; normalise parts of them");
  }
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("batch_norm", {run_batch_norm, prepare});
  table.add("batch_norm_inference", {run_batch_norm});
  table.add("batch_norm_statistics", {run_statistics, prepare});
  table.add("batch_norm_apply", {run_apply});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
