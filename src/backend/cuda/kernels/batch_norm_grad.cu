// The gradients of batch normalisation: the sums over dy and x in one pass, dx in a second one.
// Behind a relu, dy is taken through that on the way: where relu's result is positive, which is
// told from that or found again from x. Results may be written over what is read element by
// element: who writes an element has read it.
#include "backend/cuda/kernels/batch_norm.cuh"
#include "backend/cuda/kernels/column_sums.cuh"
#include "backend/cuda/kernels/vectors.cuh"

namespace plimsoll::cuda {
namespace {

/// How dy gets from the relu's result to the normalisation's.
enum class Relu : std::uint8_t {
  none,   ///< as it is
  found,  ///< where x normalised is positive
  given,  ///< where `y` is; what is left of dy is stored
};

/// What dy is made of.
template <typename T>
struct Dy {
  const T* dy = nullptr;
  const T* more = nullptr;  ///< is added to dy, if More and there is any
  const T* y = nullptr;     ///< relu's result, if it is given
  T* masked = nullptr;      ///< where dy behind the relu goes then
};

/// A vector of each of those.
template <typename T, int V, Relu R, bool More>
struct HeldDy {
  Vec<T, V> dy;
  Vec<T, V> more;
  Vec<T, V> y;

  __device__ __forceinline__ void load(const Dy<T>& from, std::int64_t at) {
    dy = load_vec<V>(from.dy + at);
    if constexpr (More) {
      if (from.more != nullptr) more = load_vec<V>(from.more + at);
    }
    if constexpr (R == Relu::given) y = load_vec<V>(from.y + at);
  }
  /// dy behind the relu, where x normalised is `normalised`.
  __device__ __forceinline__ Acc<T> through(const Dy<T>& from, int i, Acc<T> normalised) const {
    using A = Acc<T>;
    if constexpr (R == Relu::none) return widen(dy.lane[i]);
    A value = widen(dy.lane[i]);
    if (More && from.more != nullptr) {
      value = widen(narrow<T>(rounded::add(value, widen(more.lane[i]))));
    }
    const bool passes =
        R == Relu::given ? widen(y.lane[i]) > A(0) : normalised > half_of_least<T>();
    return passes ? value : A(0);
  }
};

/// Rows that a thread has under way: as many as registers hold.
template <Relu R, bool More>
inline constexpr int kGradLoads = R == Relu::none           ? 4
                                  : R == Relu::found&& More ? 1
                                                            : 2;

/// What x is normalised by, where that is found again.
struct Normalisation {
  Parameters scales = {};
  Parameters biases = {};
  const void* variances = nullptr;
  double epsilon = 0;
};

/// parts: [chunks, 2, channels], the sums of dy and of dy (x - mean).
template <typename T, int V, Relu R, bool More>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    batch_sums(Acc<T>* parts, const Dy<T> dy, const T* x, const Acc<T>* means,
               const Normalisation norm, const Batch b) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  A mean[V] = {};
  A factor[V] = {};
  A bias[V] = {};
  A sum[V] = {};
  A along[V] = {};
  if (t.here) {
    load_channels(means, t.channel, mean);
    if constexpr (R == Relu::found) {
      A variance[V];
      load_channels(static_cast<const A*>(norm.variances), t.channel, variance);
      load_parameters<T>(norm.scales, t.channel, factor, true);
      load_parameters<T>(norm.biases, t.channel, bias, true);
      const auto epsilon = static_cast<A>(norm.epsilon);
#pragma unroll
      for (int i = 0; i < V; ++i) factor[i] = batch_factor(factor[i], variance[i], epsilon);
    }
  }
  HeldDy<T, V, R, More> ds[kGradLoads<R, More>];
  Vec<T, V> xs[kGradLoads<R, More>];
  t.template for_rows<kGradLoads<R, More>>(
      b,
      [&](int j, std::int64_t at) {
        ds[j].load(dy, at);
        xs[j] = load_vec<V>(x + at);
      },
      [&](int j, std::int64_t at) {
        A d[V];
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A off = rounded::sub(widen(xs[j].lane[i]), mean[i]);
          d[i] = ds[j].through(dy, i, rounded::fma(off, factor[i], bias[i]));
          sum[i] = rounded::add(sum[i], d[i]);
          along[i] = rounded::fma(d[i], off, along[i]);
        }
        if constexpr (R == Relu::given) store_vec(dy.masked + at, narrow_all<T>(d));
      });

  __shared__ BlockParts<A, V> lanes;
  lanes.put(t, sum, along);
  lanes.each(b, [&](std::int64_t channel, int at, int apart) {
    A first = 0;
    A second = 0;
    for (int i = 0; i < b.lanes; ++i) {
      first = rounded::add(first, lanes.first[at + i * apart]);
      second = rounded::add(second, lanes.second[at + i * apart]);
    }
    A* part = parts + static_cast<std::int64_t>(blockIdx.y) * 2 * b.channels + channel;
    part[0] = first;
    part[b.channels] = second;
  });
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
__global__ void __launch_bounds__(kJoinChannels* kJoinLanes)
    settle(Shares<Acc<T>> shares, SumsTo dscale, SumsTo dbias, Given<Acc<T>> given,
           const Acc<T>* parts, Parameters scales, const Acc<T>* variances, Acc<T> epsilon,
           const Batch b) {
  using A = Acc<T>;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kJoinChannels + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.y);
  A sum = 0;
  A along = 0;
  if (channel < b.channels) {
#pragma unroll 8
    for (int chunk = lane; chunk < b.chunks; chunk += kJoinLanes) {
      const A* part = parts + static_cast<std::int64_t>(chunk) * 2 * b.channels + channel;
      sum += part[0];
      along += part[b.channels];
    }
  }
  __shared__ A shared[2][kJoinLanes][kJoinChannels];
  shared[0][lane][threadIdx.x] = sum;
  shared[1][lane][threadIdx.x] = along;
  __syncthreads();
#pragma unroll
  for (int apart = kJoinLanes / 2; apart > 0; apart /= 2) {
    if (lane < apart) {
      sum += shared[0][lane + apart][threadIdx.x];
      along += shared[1][lane + apart][threadIdx.x];
      shared[0][lane][threadIdx.x] = sum;
      shared[1][lane][threadIdx.x] = along;
    }
    __syncthreads();
  }
  if (lane != 0 || channel >= b.channels) return;
  A scale[1];
  load_parameters<T>(scales, channel, scale, true);
  const A inverse = A(1) / sqrt(rounded::add(variances[channel], epsilon));
  const A factor = batch_factor(scale[0], variances[channel], epsilon);
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

template <typename T, int V, Relu R, bool More>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    batch_gradient(T* dx, const Dy<T> dy, const T* x, const Acc<T>* means, Shares<Acc<T>> shares,
                   Parameters biases, const Batch b) {
  using A = Acc<T>;
  const BatchThread<V> t(b);
  if (!t.here) return;
  A mean[V];
  A factor[V];
  A bias[V] = {};
  A mean_part[V];
  A spread_part[V];
  load_channels(means, t.channel, mean);
  load_channels<V, A>(shares.factor, t.channel, factor);
  load_channels<V, A>(shares.mean_part, t.channel, mean_part);
  load_channels<V, A>(shares.spread_part, t.channel, spread_part);
  if constexpr (R == Relu::found) load_parameters<T>(biases, t.channel, bias, true);
  HeldDy<T, V, R, More> ds[kGradLoads<R, More>];
  Vec<T, V> xs[kGradLoads<R, More>];
  t.template for_rows<kGradLoads<R, More>>(
      b,
      [&](int j, std::int64_t at) {
        ds[j].load(dy, at);
        xs[j] = load_vec<V>(x + at);
      },
      [&](int j, std::int64_t at) {
        A result[V];
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const A off = rounded::sub(widen(xs[j].lane[i]), mean[i]);
          const A d = ds[j].through(dy, i, rounded::fma(off, factor[i], bias[i]));
          const A left = rounded::fma(-off, spread_part[i], rounded::sub(d, mean_part[i]));
          result[i] = rounded::mul(factor[i], left);
        }
        store_vec(dx + at, narrow_all<T>(result));
      });
}

/// The inputs of a gradient, by their places.
struct Places {
  int mean = 3;
  int bias = -1;  ///< to find x normalised again
  int y = -1;     ///< relu's result
  int more = -1;  ///< of dy
};

/// dy, x, scale are the first inputs, the variance follows the mean. With `given` statistics those
/// have gradients of their own.
template <Relu R>
void run_gradients(const KernelContext& k, const Places& at, bool given) {
  const Batch b = batch_of(k);
  if (b.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    const DType dtype = k.in(0).dtype();
    Dy<T> dy{.dy = k.in(0).as<const T>()};
    if (at.more >= 0) dy.more = k.in(at.more).as<const T>();
    Normalisation norm{.scales = parameters_of(k.in(2), dtype),
                       .variances = k.in(at.mean + 1).data,
                       .epsilon = k.attributes.number("epsilon")};
    if constexpr (R == Relu::found) norm.biases = parameters_of(k.in(at.bias), dtype);
    if constexpr (R == Relu::given) {
      dy.y = k.in(at.y).as<const T>();
      dy.masked = k.out(3).as<T>();
    }
    const T* x = k.in(1).as<const T>();
    const A* mean = k.in(at.mean).as<const A>();
    auto* parts = static_cast<A*>(k.workspace);
    const Shares<A> shares(parts + 2 * b.chunks * b.channels, b.channels);
    // Kernels for single elements always look whether there is more.
    constexpr bool kMay = R != Relu::none;
    constexpr bool kAlways = kMay && V == 1;
    constexpr Relu kSecond = R == Relu::found ? Relu::found : Relu::none;
    constexpr bool kMaySecond = R == Relu::found;
    constexpr bool kAlwaysSecond = kMaySecond && V == 1;
    const auto sums = [&](auto kernel) {
      kernel<<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(parts, dy, x, mean, norm, b);
    };
    const auto gradient = [&](auto kernel) {
      kernel<<<grid_of(b), kBatchThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), dy, x, mean, shares,
                                                            norm.biases, b);
    };
    dy.more != nullptr ? sums(batch_sums<T, V, R, kMay>) : sums(batch_sums<T, V, R, kAlways>);
    settle<T><<<join_blocks(b), dim3(kJoinChannels, kJoinLanes), 0, queue_of(k)>>>(
        shares, sums_to(k.out(1), dtype), sums_to(k.out(2), dtype),
        given ? Given<A>{k.out(3).as<A>(), k.out(4).as<A>()} : Given<A>{}, parts, norm.scales,
        k.in(at.mean + 1).as<const A>(), static_cast<A>(norm.epsilon), b);
    if (b.rows == 0) return;
    if (R == Relu::given) dy = {.dy = dy.masked};
    dy.more != nullptr ? gradient(batch_gradient<T, V, kSecond, kMaySecond>)
                       : gradient(batch_gradient<T, V, kSecond, kAlwaysSecond>);
  });
  check_launch(k.inputs.size() > 5 ? "batch_norm_relu_grad" : "batch_norm_grad");
}

/// Where the rest of dy is, if it comes in two parts.
int more_of(const KernelContext& k) { return k.inputs.size() > 6 ? 6 : -1; }

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
            {[](const KernelContext& k) { run_gradients<Relu::none>(k, {}, false); }, prepare});
  table.add("batch_norm_inference_grad",
            {[](const KernelContext& k) { run_gradients<Relu::none>(k, {}, true); }, prepare});
  table.add("batch_norm_relu_grad", {[](const KernelContext& k) {
                                       run_gradients<Relu::found>(
                                           k, {.mean = 4, .bias = 3, .more = more_of(k)}, false);
                                     },
                                     prepare});
  table.add("batch_norm_add_relu_grad", {[](const KernelContext& k) {
                                           run_gradients<Relu::given>(
                                               k, {.mean = 4, .y = 3, .more = more_of(k)}, false);
                                         },
                                         prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
