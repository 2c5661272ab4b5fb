// Group normalisation: each picture is passed over as a batch of its own would be, channel by
// channel, then the channels of a group are put together. Results may be written over dy or x: who
// writes an element has read it, and nobody else does.
#include <math_constants.h>

#include <plimsoll/ops/group_norm_parts.h>

#include "backend/cuda/kernels/batch_norm.cuh"
#include "backend/cuda/kernels/column_sums.cuh"
#include "backend/cuda/kernels/spreads.cuh"
#include "backend/cuda/kernels/vectors.cuh"

namespace plimsoll::cuda {
namespace {

static_assert(ops::kGroupParts == 132 * kBatchResident);

/// Pictures, each a batch.
struct Pictures {
  std::int64_t count = 0;
  std::int64_t groups = 1;
  std::int64_t width = 1;  ///< channels of a group
  Batch each;

  __host__ __device__ std::int64_t elements() const { return each.rows * each.channels; }
  /// Numbers that all chunks of a picture have.
  __host__ __device__ std::int64_t parts() const { return 2 * each.chunks * each.channels; }
  __device__ __forceinline__ std::int64_t rows_of(std::int64_t chunk) const {
    return each.begin(static_cast<int>(chunk) + 1) - each.begin(static_cast<int>(chunk));
  }
};

Pictures pictures_of(const Shape& shape, DType dtype, const ops::Attributes& attributes) {
  const bool last = attributes.flag("channels_last");
  Pictures p{.count = shape[0],
             .groups = attributes.integer("groups"),
             .each = batch_of(Shape{1, shape[1], shape[2], shape[3]}, dtype, last)};
  Batch& b = p.each;
  p.width = b.channels / p.groups;
  const std::int64_t blocks = std::max<std::int64_t>(b.blocks * p.count, 1);
  b.chunks = static_cast<int>(std::clamp<std::int64_t>(
      std::min(ops::kGroupParts / blocks, b.rows / (b.lanes * kBatchRows)), 1, ops::kGroupParts));
  return p;
}
Pictures pictures_of(const KernelContext& k) {
  return pictures_of(k.in(0).shape(), k.in(0).dtype(), k.attributes);
}

dim3 grid_of(const Pictures& p) {
  const auto deep = static_cast<unsigned>(std::min<std::int64_t>(p.count, 32768));
  return {static_cast<unsigned>(p.each.blocks), static_cast<unsigned>(p.each.chunks), deep};
}

/// body(picture) for those of this block, whose threads are all here.
template <typename Body>
__device__ __forceinline__ void for_pictures(const Pictures& p, Body body) {
  for (std::int64_t at = blockIdx.z; at < p.count; at += gridDim.z) body(at);
}

/// The group of each of V channels.
template <int V>
__device__ __forceinline__ void groups_of(const Pictures& p, std::int64_t picture,
                                          std::int64_t channel, std::int64_t (&groups)[V]) {
  const Split place = split(channel, p.width);
  std::int64_t group = picture * p.groups + place.quotient;
  std::int64_t left = p.width - place.remainder;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    groups[i] = group;
    if (--left == 0) {
      ++group;
      left = p.width;
    }
  }
}

/// use(part, channel, chunk) for this thread's share of what the channels of a group have, where
/// `part` is the first of their two numbers.
template <int Group, typename A, typename Use>
__device__ __forceinline__ void for_parts(const Pictures& p, const A* parts, std::int64_t picture,
                                          std::int64_t group, Use use) {
  const std::int64_t count = p.each.chunks * p.width;
  const A* from = parts + picture * p.parts();
  for (std::int64_t i = threadIdx.x % Group; i < count; i += Group) {
    const Split place = split(i, p.width);
    const std::int64_t channel = group * p.width + place.remainder;
    use(from + place.quotient * 2 * p.each.channels + channel, channel, place.quotient);
  }
}

/// parts: [pictures, chunks, 2, channels], means and squares.
template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    picture_spreads(Acc<T>* parts, const T* x, const Pictures p) {
  for_pictures(p, [&](std::int64_t at) {
    chunk_spreads<T, V>(parts + at * p.parts(), x + at * p.elements(), p.each);
    __syncthreads();
  });
}

template <typename A, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    merge_groups(A* mean, A* variance, const A* parts, const Pictures p) {
  for (std::int64_t at = first_row<Group>(); at < p.count * p.groups; at += row_stride<Group>()) {
    const Split place = split(at, p.groups);
    const A count = static_cast<A>(p.width * p.each.rows);
    const A from =
        p.width == 0 ? A(0) : parts[place.quotient * p.parts() + place.remainder * p.width];
    A off = 0;
    for_parts<Group>(p, parts, place.quotient, place.remainder,
                     [&](const A* part, std::int64_t, std::int64_t chunk) {
                       off += static_cast<A>(p.rows_of(chunk)) * (part[0] - from);
                     });
    const A middle = from + group_sum<Group>(off) / count;
    A squares = 0;
    for_parts<Group>(p, parts, place.quotient, place.remainder,
                     [&](const A* part, std::int64_t, std::int64_t chunk) {
                       const A far = part[0] - middle;
                       squares +=
                           part[p.each.channels] + static_cast<A>(p.rows_of(chunk)) * far * far;
                     });
    squares = group_sum<Group>(squares);
    if (threadIdx.x % Group != 0) continue;
    mean[at] = count == A(0) ? static_cast<A>(CUDART_NAN_F) : middle;
    variance[at] = squares / count;
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    group_normalize(T* y, const T* x, Parameters scales, Parameters biases, const Acc<T>* means,
                    const Acc<T>* variances, Acc<T> epsilon, const Pictures p) {
  using A = Acc<T>;
  constexpr int kLoads = 5;
  const BatchThread<V> t(p.each);
  if (!t.here) return;
  A scale[V];
  A bias[V];
  load_parameters<T>(scales, t.channel, scale, true);
  load_parameters<T>(biases, t.channel, bias, true);
  for_pictures(p, [&](std::int64_t picture) {
    std::int64_t groups[V];
    A mean[V];
    A factor[V];
    groups_of(p, picture, t.channel, groups);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      mean[i] = means[groups[i]];
      factor[i] = batch_factor(scale[i], variances[groups[i]], epsilon);
    }
    const std::int64_t first = picture * p.elements();
    Vec<T, V> held[kLoads];
    t.template for_rows<kLoads>(
        p.each, [&](int j, std::int64_t at) { held[j] = load_vec<V>(x + first + at); },
        [&](int j, std::int64_t at) {
          A value[V];
#pragma unroll
          for (int i = 0; i < V; ++i) {
            value[i] = batch_normalised(held[j].lane[i], mean[i], factor[i], bias[i]);
          }
          store_vec(y + first + at, narrow_all<T>(value));
        });
  });
}

/// parts: [pictures, chunks, 2, channels], the sums of dy and of dy (x - mean).
template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    picture_sums(Acc<T>* parts, const T* dy, const T* x, const Acc<T>* means, const Pictures p) {
  using A = Acc<T>;
  constexpr int kLoads = 4;
  const Batch& b = p.each;
  const BatchThread<V> t(b);
  __shared__ BlockParts<A, V> lanes;
  for_pictures(p, [&](std::int64_t picture) {
    A mean[V] = {};
    A sum[V] = {};
    A along[V] = {};
    if (t.here) {
      std::int64_t groups[V];
      groups_of(p, picture, t.channel, groups);
#pragma unroll
      for (int i = 0; i < V; ++i) mean[i] = means[groups[i]];
    }
    const std::int64_t from = picture * p.elements();
    Vec<T, V> ds[kLoads];
    Vec<T, V> xs[kLoads];
    t.template for_rows<kLoads>(
        b,
        [&](int j, std::int64_t at) {
          ds[j] = load_vec<V>(dy + from + at);
          xs[j] = load_vec<V>(x + from + at);
        },
        [&](int j, std::int64_t) {
#pragma unroll
          for (int i = 0; i < V; ++i) {
            const A d = widen(ds[j].lane[i]);
            sum[i] = rounded::add(sum[i], d);
            along[i] = rounded::fma(d, rounded::sub(widen(xs[j].lane[i]), mean[i]), along[i]);
          }
        });
    lanes.put(t, sum, along);
    lanes.each(b, [&](std::int64_t channel, int at, int apart) {
      A first = 0;
      A second = 0;
      for (int i = 0; i < b.lanes; ++i) {
        first = rounded::add(first, lanes.first[at + i * apart]);
        second = rounded::add(second, lanes.second[at + i * apart]);
      }
      A* part = parts + picture * p.parts() +
                static_cast<std::int64_t>(blockIdx.y) * 2 * b.channels + channel;
      part[0] = first;
      part[b.channels] = second;
    });
    __syncthreads();
  });
}

/// Per group of each picture: what its mean takes from dy, and its variance for each unit of
/// x - mean.
template <typename T, int Group>
__global__ void __launch_bounds__(kBlockOf<Group>)
    group_shares(Acc<T>* mean_parts, Acc<T>* spread_parts, const Acc<T>* parts, Parameters scales,
                 const Acc<T>* variances, Acc<T> epsilon, const Pictures p) {
  using A = Acc<T>;
  for (std::int64_t at = first_row<Group>(); at < p.count * p.groups; at += row_stride<Group>()) {
    const Split place = split(at, p.groups);
    A sums[2] = {};
    for_parts<Group>(p, parts, place.quotient, place.remainder,
                     [&](const A* part, std::int64_t channel, std::int64_t) {
                       A scale[1];
                       load_parameters<T>(scales, channel, scale, true);
                       sums[0] += scale[0] * part[0];
                       sums[1] += scale[0] * part[p.each.channels];
                     });
    group_sums<Group>(sums);
    if (threadIdx.x % Group != 0) continue;
    const A count = static_cast<A>(p.width * p.each.rows);
    const A inverse = A(1) / sqrt(rounded::add(variances[at], epsilon));
    mean_parts[at] = sums[0] / count;
    spread_parts[at] = sums[1] * inverse * inverse / count;
  }
}

/// The gradients of scale and bias: over all pictures and chunks.
template <typename T>
__global__ void __launch_bounds__(kJoinChannels* kJoinLanes)
    parameter_gradients(SumsTo dscale, SumsTo dbias, const Acc<T>* parts, const Acc<T>* variances,
                        Acc<T> epsilon, const Pictures p) {
  using A = Acc<T>;
  const std::int64_t channels = p.each.channels;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kJoinChannels + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.y);
  A sum = 0;
  A along = 0;
  if (channel < channels) {
    const std::int64_t group = channel / p.width;
#pragma unroll 4
    for (std::int64_t i = lane; i < p.count * p.each.chunks; i += kJoinLanes) {
      const A* part = parts + i * 2 * channels + channel;
      const std::int64_t picture = split(i, p.each.chunks).quotient;
      const A variance = variances[picture * p.groups + group];
      sum += part[0];
      along += part[channels] * (A(1) / sqrt(rounded::add(variance, epsilon)));
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
  if (lane != 0 || channel >= channels) return;
  store_sum<T>(dscale, channel, along);
  store_sum<T>(dbias, channel, sum);
}

template <typename T, int V>
__global__ void __launch_bounds__(kBatchThreads, kBatchResident)
    group_gradient(T* dx, const T* dy, const T* x, Parameters scales, const Acc<T>* means,
                   const Acc<T>* variances, const Acc<T>* mean_parts, const Acc<T>* spread_parts,
                   Acc<T> epsilon, const Pictures p) {
  using A = Acc<T>;
  constexpr int kLoads = 3;
  const BatchThread<V> t(p.each);
  if (!t.here) return;
  A scale[V];
  load_parameters<T>(scales, t.channel, scale, true);
  for_pictures(p, [&](std::int64_t picture) {
    std::int64_t groups[V];
    A mean[V];
    A inverse[V];
    A mean_part[V];
    A spread_part[V];
    groups_of(p, picture, t.channel, groups);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      mean[i] = means[groups[i]];
      inverse[i] = A(1) / sqrt(rounded::add(variances[groups[i]], epsilon));
      mean_part[i] = mean_parts[groups[i]];
      spread_part[i] = spread_parts[groups[i]];
    }
    const std::int64_t first = picture * p.elements();
    Vec<T, V> ds[kLoads];
    Vec<T, V> xs[kLoads];
    t.template for_rows<kLoads>(
        p.each,
        [&](int j, std::int64_t at) {
          ds[j] = load_vec<V>(dy + first + at);
          xs[j] = load_vec<V>(x + first + at);
        },
        [&](int j, std::int64_t at) {
          A result[V];
#pragma unroll
          for (int i = 0; i < V; ++i) {
            const A off = rounded::sub(widen(xs[j].lane[i]), mean[i]);
            const A own = rounded::fma(widen(ds[j].lane[i]), scale[i], -mean_part[i]);
            result[i] = rounded::mul(inverse[i], rounded::fma(-off, spread_part[i], own));
          }
          store_vec(dx + first + at, narrow_all<T>(result));
        });
  });
}

/// body<Group>(): a warp for each group of a picture where it has few parts, else a block.
template <typename Body>
void with_group(const Pictures& p, Body&& body) {
  p.each.chunks* p.width <= 256 ? body.template operator()<32>() : body.template operator()<256>();
}

void run_group_norm(const KernelContext& k) {
  const Pictures p = pictures_of(k);
  if (p.count == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    const DType dtype = k.in(0).dtype();
    const T* x = k.in(0).as<const T>();
    auto* parts = static_cast<A*>(k.workspace);
    A* mean = k.out(1).as<A>();
    A* variance = k.out(2).as<A>();
    const dim3 grid = grid_of(p);
    if (p.each.channels > 0) {
      picture_spreads<T, V><<<grid, kBatchThreads, 0, queue_of(k)>>>(parts, x, p);
    }
    with_group(p, [&]<int Group>() {
      merge_groups<A, Group>
          <<<blocks_for_rows<Group>(p.count * p.groups), kBlockOf<Group>, 0, queue_of(k)>>>(
              mean, variance, parts, p);
    });
    if (p.elements() == 0) return;
    group_normalize<T, V><<<grid, kBatchThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), x, parameters_of(k.in(1), dtype), parameters_of(k.in(2), dtype), mean,
        variance, static_cast<A>(k.attributes.number("epsilon")), p);
  });
  check_launch("group_norm");
}

/// dy, x, scale, mean, variance.
void run_group_norm_grad(const KernelContext& k) {
  const Pictures p = pictures_of(k);
  if (p.each.channels == 0) return;
  with_batch(k, [&]<typename T, int V>() {
    using A = Acc<T>;
    const DType dtype = k.in(0).dtype();
    const auto scales = parameters_of(k.in(2), dtype);
    const T* dy = k.in(0).as<const T>();
    const T* x = k.in(1).as<const T>();
    const A* mean = k.in(3).as<const A>();
    const A* variance = k.in(4).as<const A>();
    const auto epsilon = static_cast<A>(k.attributes.number("epsilon"));
    auto* parts = static_cast<A*>(k.workspace);
    A* mean_parts = parts + p.count * p.parts();
    A* spread_parts = mean_parts + p.count * p.groups;
    const dim3 grid = grid_of(p);
    if (p.count > 0) {
      picture_sums<T, V><<<grid, kBatchThreads, 0, queue_of(k)>>>(parts, dy, x, mean, p);
      with_group(p, [&]<int Group>() {
        group_shares<T, Group>
            <<<blocks_for_rows<Group>(p.count * p.groups), kBlockOf<Group>, 0, queue_of(k)>>>(
                mean_parts, spread_parts, parts, scales, variance, epsilon, p);
      });
    }
    parameter_gradients<T>
        <<<join_blocks(p.each), dim3(kJoinChannels, kJoinLanes), 0, queue_of(k)>>>(
            sums_to(k.out(1), dtype), sums_to(k.out(2), dtype), parts, variance, epsilon, p);
    if (p.count * p.elements() == 0) return;
    group_gradient<T, V><<<grid, kBatchThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), dy, x, scales, mean, variance, mean_parts, spread_parts, epsilon, p);
  });
  check_launch("group_norm_grad");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& inputs,
                                                std::span<const TensorType>) {
  const Pictures p = pictures_of(inputs.shape(0), inputs.dtype(0), inputs.attributes());
  auto state = std::make_shared<ops::KernelState>();
  state->workspace = static_cast<Bytes>(p.count * (p.parts() + 2 * p.groups)) *
                     std::max<std::size_t>(4, dtype_size(inputs.dtype(0)));
  return state;
}

void add_kernels(KernelTable& table) {
  table.add("group_norm", {run_group_norm, prepare});
  table.add("group_norm_grad", {run_group_norm_grad, prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
