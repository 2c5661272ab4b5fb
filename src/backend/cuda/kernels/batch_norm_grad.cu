// The gradients of batch normalisation: the sums over dy and x in one pass, dx in a second one. dx
// may be written over dy or x: who writes an element has read it.
#include "backend/cuda/kernels/batch_norm.cuh"
#include "backend/cuda/kernels/column_sums.cuh"

namespace plimsoll::cuda {
namespace {

/// parts: [chunks, 2, channels], the sums of dy and of dy (x - mean).
template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads)
    batch_sums(Acc<T>* parts, const T* dy, const T* x, const Acc<T>* means, const Batch b,
               bool aligned) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  A mean[V] = {};
  A sum[V] = {};
  A along[V] = {};
  if (t.here) load_channels(means, t.channel, mean);
  Vec<T, V> ds[kBatchLoads];
  Vec<T, V> xs[kBatchLoads];
  t.for_rows(
      b,
      [&](int j, std::int64_t at) {
        ds[j] = load_some<V>(dy + at, aligned);
        xs[j] = load_some<V>(x + at, aligned);
      },
      [&](int j, std::int64_t) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A d = widen(ds[j].lane[i]);
          sum[i] += d;
          along[i] += d * (widen(xs[j].lane[i]) - mean[i]);
        }
      });

  __shared__ A shared[2][kBatchThreads];
  const int thread = static_cast<int>(threadIdx.x);
  int widest = 1;
  while (2 * widest < b.lanes) widest *= 2;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    shared[0][thread] = sum[i];
    shared[1][thread] = along[i];
    __syncthreads();
    for (int apart = widest; apart > 0; apart /= 2) {
      if (t.lane < apart && t.lane + apart < b.lanes) {
        const int other = thread + apart * b.across;
        shared[0][thread] += shared[0][other];
        shared[1][thread] += shared[1][other];
      }
      __syncthreads();
    }
    if (t.here && t.lane == 0) {
      A* part = parts + static_cast<std::int64_t>(blockIdx.y) * 2 * b.channels + t.channel + i;
      part[0] = shared[0][thread];
      part[b.channels] = shared[1][thread];
    }
    __syncthreads();
  }
}

/// Arrays that Shares has.
constexpr std::int64_t kShares = 3;

/// Per channel, arrays one after another.
template <typename A>
struct Shares {
  A* factor;       ///< scale / sqrt(variance + epsilon)
  A* mean_part;    ///< what the mean takes from dy
  A* spread_part;  ///< what the variance takes from dy, for each unit of x - mean

  Shares(A* at, std::int64_t channels)
      : factor(at), mean_part(at + channels), spread_part(at + 2 * channels) {}
};

/// What is given by the caller has gradients of its own; null otherwise.
template <typename A>
struct Given {
  A* dmean;
  A* dvariance;
};

template <typename T>
__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    settle(Shares<Acc<T>> shares, SumsTo dscale, SumsTo dbias, Given<Acc<T>> given,
           const Acc<T>* parts, Parameters scales, const Acc<T>* variances, Acc<T> epsilon,
           const Batch b) {
  using A = Acc<T>;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  A sum = 0;
  A along = 0;
  if (channel < b.channels) {
#pragma unroll 4
    for (int chunk = static_cast<int>(threadIdx.y); chunk < b.chunks; chunk += kSumLanes) {
      const A* part = parts + static_cast<std::int64_t>(chunk) * 2 * b.channels + channel;
      sum += part[0];
      along += part[b.channels];
    }
  }
  sum = sum_of_lanes(sum);
  along = sum_of_lanes(along);
  if (threadIdx.y != 0 || channel >= b.channels) return;
  A scale[1];
  load_parameters<T>(scales, channel, scale, true);
  const A inverse = A(1) / sqrt(variances[channel] + epsilon);
  const A factor = scale[0] * inverse;
  const A count = static_cast<A>(b.rows);
  const bool fixed = given.dmean != nullptr;
  shares.factor[channel] = factor;
  shares.mean_part[channel] = fixed ? A(0) : sum / count;
  shares.spread_part[channel] = fixed ? A(0) : along * inverse * inverse / count;
  if (fixed) {
    given.dmean[channel] = -sum * factor;
    given.dvariance[channel] = along * factor * inverse * inverse * A(-0.5);
  }
  store_sum<T>(dscale, channel, along * inverse);
  store_sum<T>(dbias, channel, sum);
}

template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads)
    batch_gradient(T* dx, const T* dy, const T* x, const Acc<T>* means, Shares<Acc<T>> shares,
                   const Batch b, bool aligned) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  if (!t.here) return;
  A mean[V];
  A factor[V];
  A mean_part[V];
  A spread_part[V];
  load_channels(means, t.channel, mean);
  load_channels<V, A>(shares.factor, t.channel, factor);
  load_channels<V, A>(shares.mean_part, t.channel, mean_part);
  load_channels<V, A>(shares.spread_part, t.channel, spread_part);
  Vec<T, V> ds[kBatchLoads];
  Vec<T, V> xs[kBatchLoads];
  t.for_rows(
      b,
      [&](int j, std::int64_t at) {
        ds[j] = load_some<V>(dy + at, aligned);
        xs[j] = load_some<V>(x + at, aligned);
      },
      [&](int j, std::int64_t at) {
        Vec<T, V> result;
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A off = widen(xs[j].lane[i]) - mean[i];
          result.lane[i] =
              narrow<T>(factor[i] * (widen(ds[j].lane[i]) - mean_part[i] - off * spread_part[i]));
        }
        store_some(dx + at, result, aligned);
      });
}

/// dy, x, scale, mean, variance. With `given` statistics those have gradients of their own.
void run_batch_norm_grad(const KernelContext& k, bool given) {
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    const DType dtype = k.in(0).dtype();
    const T* dy = k.in(0).as<const T>();
    const T* x = k.in(1).as<const T>();
    const A* mean = k.in(3).as<const A>();
    const bool aligned = all_aligned({dy, x, k.out(0).data});
    auto* parts = static_cast<A*>(k.workspace);
    const Shares<A> shares(parts + 2 * b.chunks * b.channels, b.channels);
    batch_sums<T, V><<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(parts, dy, x, mean, b, aligned);
    const auto blocks = static_cast<unsigned>((b.channels + kSumColumns - 1) / kSumColumns);
    settle<T><<<blocks, dim3(kSumColumns, kSumLanes), 0, queue_of(k)>>>(
        shares, sums_to(k.out(1), dtype), sums_to(k.out(2), dtype),
        given ? Given<A>{k.out(3).as<A>(), k.out(4).as<A>()} : Given<A>{}, parts,
        parameters_of(k.in(2), dtype), k.in(4).as<const A>(),
        static_cast<A>(k.attributes.number("epsilon")), b);
    if (b.rows == 0) return;
    batch_gradient<T, V><<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), dy, x,
                                                                        mean, shares, b, aligned);
  });
  check_launch(given ? "batch_norm_inference_grad" : "batch_norm_grad");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  auto state = std::make_shared<ops::KernelState>();
  const Batch b =
      batch_of(inputs.shape(0), inputs.dtype(0), inputs.attributes().flag("channels_last"));
  state->workspace = static_cast<Bytes>((2 * b.chunks + kShares) * b.channels) *
                     std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  if (state->workspace > ops::kWorkspaceSlot - ops::kWorkspaceReserve) {
    inputs.fail("has too many channels for a GPU's workspace; normalise parts of them");
  }
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("batch_norm_grad",
            {[](const KernelContext& k) { run_batch_norm_grad(k, false); }, prepare});
  table.add("batch_norm_inference_grad",
            {[](const KernelContext& k) { run_batch_norm_grad(k, true); }, prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
