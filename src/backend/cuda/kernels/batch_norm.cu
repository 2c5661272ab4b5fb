// Batch normalisation: the statistics in one pass over x (Welford's updates in each thread, merged
// as in Chan et al., "Updating formulae and a pairwise algorithm for computing sample variances"),
// the result in a second one. It may be written over x: who writes an element has read it.
#include "backend/cuda/kernels/batch_norm.cuh"

#include <math_constants.h>

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
__global__ void __launch_bounds__(kBatchThreads, 3)
    batch_spreads(Acc<T>* parts, const T* x, const Batch b, bool aligned) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  A mean[V] = {};
  A squares[V] = {};
  A count = 0;
  Vec<T, V> held[kBatchLoads];
  t.for_rows(
      b, [&](int j, std::int64_t at) { held[j] = load_some<V>(x + at, aligned); },
      [&](int j, std::int64_t) {
        count += A(1);
        const A share = A(1) / count;
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A value = widen(held[j].lane[i]);
          const A off = value - mean[i];
          mean[i] += off * share;
          squares[i] += off * (value - mean[i]);
        }
      });

  __shared__ Spread<A> shared[kBatchThreads];
  const int thread = static_cast<int>(threadIdx.x);
  int widest = 1;
  while (2 * widest < b.lanes) widest *= 2;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    Spread<A> mine{count, mean[i], squares[i]};
    shared[thread] = mine;
    __syncthreads();
    for (int apart = widest; apart > 0; apart /= 2) {
      if (t.lane < apart && t.lane + apart < b.lanes) {
        mine.merge(shared[thread + apart * b.across]);
        shared[thread] = mine;
      }
      __syncthreads();
    }
    if (t.here && t.lane == 0) {
      A* part = parts + static_cast<std::int64_t>(blockIdx.y) * 2 * b.channels + t.channel + i;
      part[0] = mine.mean;
      part[b.channels] = mine.squares;
    }
  }
}

constexpr int kMergeChannels = 8;
constexpr int kMergeLanes = 64;

template <typename A>
__global__ void __launch_bounds__(kMergeChannels* kMergeLanes)
    merge_spreads(A* mean, A* variance, const A* parts, const Batch b) {
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kMergeChannels + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.y);
  Spread<A> mine;
  if (channel < b.channels) {
#pragma unroll 4
    for (int chunk = lane; chunk < b.chunks; chunk += kMergeLanes) {
      const A* part = parts + static_cast<std::int64_t>(chunk) * 2 * b.channels + channel;
      mine.merge({static_cast<A>(b.begin(chunk + 1) - b.begin(chunk)), part[0], part[b.channels]});
    }
  }
  __shared__ Spread<A> shared[kMergeLanes][kMergeChannels];
  shared[lane][threadIdx.x] = mine;
  __syncthreads();
#pragma unroll
  for (int apart = kMergeLanes / 2; apart > 0; apart /= 2) {
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

template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, 3)
    batch_normalize(T* y, const T* x, Parameters scales, Parameters biases, const Acc<T>* means,
                    const Acc<T>* variances, Acc<T> epsilon, const Batch b, bool aligned) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  if (!t.here) return;
  A mean[V];
  A factor[V];
  A bias[V];
  A variance[V];
  load_channels(means, t.channel, mean);
  load_channels(variances, t.channel, variance);
  load_parameters<T>(scales, t.channel, factor, aligned);
  load_parameters<T>(biases, t.channel, bias, aligned);
#pragma unroll
  for (int i = 0; i < V; ++i) factor[i] = factor[i] / sqrt(variance[i] + epsilon);
  Vec<T, V> held[kBatchLoads];
  t.for_rows(
      b, [&](int j, std::int64_t at) { held[j] = load_some<V>(x + at, aligned); },
      [&](int j, std::int64_t at) {
        Vec<T, V> result;
#pragma unroll
        for (int i = 0; i < V; ++i) {
          result.lane[i] = narrow<T>((widen(held[j].lane[i]) - mean[i]) * factor[i] + bias[i]);
        }
        store_some(y + at, result, aligned);
      });
}

/// Training and inference: x, scale, bias and, for the latter, mean and variance.
void run_batch_norm(const KernelContext& k) {
  const bool given = k.inputs.size() > 3;
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    const T* x = k.in(0).as<const T>();
    const auto scale = parameters_of(k.in(1), k.in(0).dtype());
    const auto bias = parameters_of(k.in(2), k.in(0).dtype());
    A* mean = given ? k.in(3).as<A>() : k.out(1).as<A>();
    A* variance = given ? k.in(4).as<A>() : k.out(2).as<A>();
    const bool aligned = all_aligned({x, k.out(0).data, scale.data, bias.data});
    if (!given) {
      auto* parts = static_cast<A*>(k.workspace);
      batch_spreads<T, V><<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(parts, x, b, aligned);
      const auto blocks = static_cast<unsigned>((b.channels + kMergeChannels - 1) / kMergeChannels);
      merge_spreads<A>
          <<<blocks, dim3(kMergeChannels, kMergeLanes), 0, queue_of(k)>>>(mean, variance, parts, b);
    }
    if (b.rows == 0) return;
    batch_normalize<T, V><<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), x, scale, bias, mean, variance,
        static_cast<A>(k.attributes.number("epsilon")), b, aligned);
  });
  check_launch(given ? "batch_norm_inference" : "batch_norm");
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
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
