// global_avg_pool2d, upsample_nearest2d and their gradients.
#include <plimsoll/backend/common/picture.h>

#include "backend/cuda/kernels/pooling.cuh"

namespace plimsoll::cuda {
namespace {

using backend::Picture;

Picture picture_of(const KernelContext& k, const Shape& shape) {
  return backend::picture_of(k.attributes.flag("nhwc"), shape);
}

/// A block has `across` vectors of a plane and 256 / across pixels at a time.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    global_mean(T* y, const T* x, const Picture p, int across, std::int64_t blocks, bool aligned) {
  using A = Acc<T>;
  __shared__ A shared[kThreads];
  const std::int64_t pixels = p.height * p.width;
  const int lanes = kThreads / across;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread / across;
  const std::int64_t beside = (p.channels / V + across - 1) / across;
  int widest = 1;
  while (2 * widest < lanes) widest *= 2;
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const Split place = split(block, beside);
    const std::int64_t channel = (place.remainder * across + thread % across) * V;
    const bool here = lane < lanes && channel < p.channels;
    A sums[V] = {};
    if (here) {
      const T* from = x + place.quotient * pixels * p.channels + channel;
#pragma unroll 4
      for (std::int64_t i = lane; i < pixels; i += lanes) {
        const auto some = load_some<V>(from + i * p.channels, aligned);
#pragma unroll
        for (int j = 0; j < V; ++j) sums[j] += widen(some.lane[j]);
      }
    }
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      shared[thread] = sums[j];
      __syncthreads();
      for (int apart = widest; apart > 0; apart /= 2) {
        if (lane < apart && lane + apart < lanes) {
          shared[thread] += shared[thread + apart * across];
        }
        __syncthreads();
      }
      result.lane[j] = narrow<T>(shared[thread] / static_cast<A>(pixels));
      __syncthreads();
    }
    if (here && lane == 0) {
      store_some(y + place.quotient * p.channels + channel, result, aligned);
    }
  }
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    global_mean_grad(T* dx, const T* dy, const Picture p, std::int64_t vectors, bool aligned) {
  using A = Acc<T>;
  const std::int64_t pixels = p.height * p.width;
  for_elements(vectors, [&](std::int64_t i) {
    const Split channel = split(i, p.channels / V);
    const std::int64_t plane = split(channel.quotient, pixels).quotient;
    const auto d = load_some<V>(dy + plane * p.channels + channel.remainder * V, aligned);
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      result.lane[j] = narrow<T>(widen(d.lane[j]) / static_cast<A>(pixels));
    }
    store_some(dx + i * V, result, aligned);
  });
}

/// `p` is the smaller picture.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    upsample(T* y, const T* x, const Picture p, std::int64_t factor, std::int64_t vectors,
             bool aligned) {
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel to = pixel_of<V>(i, p.height * factor, p.width * factor, p.channels);
    const std::int64_t row = split(to.y, factor).quotient;
    const std::int64_t column = split(to.x, factor).quotient;
    const std::int64_t from =
        ((to.plane * p.height + row) * p.width + column) * p.channels + to.channel;
    store_some(y + i * V, load_some<V>(x + from, aligned), aligned);
  });
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    upsample_grad(T* dx, const T* dy, const Picture p, std::int64_t factor, std::int64_t vectors,
                  bool aligned) {
  const std::int64_t line = p.width * factor * p.channels;
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel to = pixel_of<V>(i, p.height, p.width, p.channels);
    const T* from =
        dy + (to.plane * p.height + to.y) * factor * line + to.x * factor * p.channels + to.channel;
    Acc<T> sums[V] = {};
    for (std::int64_t fy = 0; fy < factor; ++fy) {
      for (std::int64_t fx = 0; fx < factor; ++fx) {
        const auto d = load_some<V>(from + fy * line + fx * p.channels, aligned);
#pragma unroll
        for (int j = 0; j < V; ++j) sums[j] += widen(d.lane[j]);
      }
    }
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(sums[j]);
    store_some(dx + i * V, result, aligned);
  });
}

void run_global(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Picture p = picture_of(k, k.in(0).shape());
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const auto across = static_cast<int>(std::min<std::int64_t>(p.channels / V, 32));
    const std::int64_t blocks = p.planes * ((p.channels / V + across - 1) / across);
    const unsigned grid = blocks_for(blocks, 1, std::int64_t{1} << 30);
    global_mean<T, V>
        <<<grid, kThreads, 0, queue_of(k)>>>(k.out(0).as<T>(), k.in(0).as<const T>(), p, across,
                                             blocks, all_aligned({k.out(0).data, k.in(0).data}));
  });
  check_launch("global_avg_pool2d");
}

/// launch<T, V>(vectors of the output, blocks, aligned)
template <typename Launch>
void over_output(const KernelContext& k, const Picture& p, const char* who, Launch&& launch) {
  if (k.out(0).elements() == 0) return;
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const std::int64_t vectors = k.out(0).elements() / V;
    launch.template operator()<T, V>(vectors, blocks_for_pixels(vectors),
                                     all_aligned({k.out(0).data, k.in(0).data}));
  });
  check_launch(who);
}

void run_global_grad(const KernelContext& k) {
  const Picture p = picture_of(k, k.out(0).shape());
  over_output(k, p, "global_avg_pool2d_grad",
              [&]<typename T, int V>(std::int64_t vectors, unsigned blocks, bool aligned) {
                global_mean_grad<T, V><<<blocks, kThreads, 0, queue_of(k)>>>(
                    k.out(0).as<T>(), k.in(0).as<const T>(), p, vectors, aligned);
              });
}

void run_upsample(const KernelContext& k) {
  const Picture p = picture_of(k, k.in(0).shape());
  const std::int64_t factor = k.attributes.integer("factor");
  over_output(k, p, "upsample_nearest2d",
              [&]<typename T, int V>(std::int64_t vectors, unsigned blocks, bool aligned) {
                upsample<T, V><<<blocks, kThreads, 0, queue_of(k)>>>(
                    k.out(0).as<T>(), k.in(0).as<const T>(), p, factor, vectors, aligned);
              });
}

void run_upsample_grad(const KernelContext& k) {
  const Picture p = picture_of(k, k.out(0).shape());
  const std::int64_t factor = k.attributes.integer("factor");
  over_output(k, p, "upsample_nearest2d_grad",
              [&]<typename T, int V>(std::int64_t vectors, unsigned blocks, bool aligned) {
                upsample_grad<T, V><<<blocks, kThreads, 0, queue_of(k)>>>(
                    k.out(0).as<T>(), k.in(0).as<const T>(), p, factor, vectors, aligned);
              });
}

void add_kernels(KernelTable& table) {
  table.add("global_avg_pool2d", {run_global});
  table.add("global_avg_pool2d_grad", {run_global_grad});
  table.add("upsample_nearest2d", {run_upsample});
  table.add("upsample_nearest2d_grad", {run_upsample_grad});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
