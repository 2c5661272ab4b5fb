// Gradients of the pools: every pixel gathers from the windows it is in, in their order.
#include "backend/cuda/kernels/pooling.cuh"

namespace plimsoll::cuda {
namespace {

/// The windows [first, last) along one axis that contain the pixel `at`.
struct Range {
  std::int64_t first;
  std::int64_t last;
};
__device__ __forceinline__ Range windows_with(std::int64_t at, std::int64_t before,
                                              std::int64_t size, std::int64_t stride,
                                              std::int64_t places) {
  const std::int64_t shifted = at + before;
  const std::int64_t first = shifted < size ? 0 : split(shifted - size, stride).quotient + 1;
  const std::int64_t last = split(shifted, stride).quotient + 1;
  return {first, last < places ? last : places};
}

/// Pixels of the window at place `place` along one axis that are inside the picture.
__device__ __forceinline__ std::int64_t pixels_of(std::int64_t place, std::int64_t before,
                                                  std::int64_t size, std::int64_t stride,
                                                  std::int64_t extent) {
  const std::int64_t at = place * stride - before;
  return (size < extent - at ? size : extent - at) - (at < 0 ? -at : 0);
}

/// f(offset of the window's result, oy, ox) for the windows that the pixel is in.
template <typename F>
__device__ __forceinline__ void each_window(const Pool& p, const Pixel& pixel, F f) {
  const Range down = windows_with(pixel.y, p.top, p.kernel_height, p.stride_down, p.out_height);
  const Range across = windows_with(pixel.x, p.left, p.kernel_width, p.stride_across, p.out_width);
  for (std::int64_t oy = down.first; oy < down.last; ++oy) {
    for (std::int64_t ox = across.first; ox < across.last; ++ox) {
      f(((pixel.plane * p.out_height + oy) * p.out_width + ox) * p.channels + pixel.channel, oy,
        ox);
    }
  }
}

template <typename T, int V, typename I>
__global__ void __launch_bounds__(kThreads)
    max_pool_grad(T* dx, const T* dy, const I* index, const Pool p, std::int64_t vectors,
                  bool aligned) {
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel pixel = pixel_of<V>(i, p.in_height, p.in_width, p.channels);
    Acc<T> sums[V] = {};
    each_window(p, pixel, [&](std::int64_t at, std::int64_t oy, std::int64_t ox) {
      const auto number = static_cast<int>((pixel.y + p.top - oy * p.stride_down) * p.kernel_width +
                                           pixel.x + p.left - ox * p.stride_across);
      const auto d = load_some<V>(dy + at, aligned);
      constexpr int kEach = V * sizeof(I) <= 16 ? V : static_cast<int>(16 / sizeof(I));
#pragma unroll
      for (int part = 0; part < V; part += kEach) {
        const auto places = load_some<kEach>(index + at + part, aligned);
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          if (static_cast<int>(places.lane[j]) == number) sums[part + j] += widen(d.lane[part + j]);
        }
      }
    });
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(sums[j]);
    store_some(dx + i * V, result, aligned);
  });
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    avg_pool_grad(T* dx, const T* dy, const Pool p, std::int64_t vectors, bool aligned) {
  using A = Acc<T>;
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel pixel = pixel_of<V>(i, p.in_height, p.in_width, p.channels);
    A sums[V] = {};
    each_window(p, pixel, [&](std::int64_t at, std::int64_t oy, std::int64_t ox) {
      const std::int64_t high = pixels_of(oy, p.top, p.kernel_height, p.stride_down, p.in_height);
      const std::int64_t wide = pixels_of(ox, p.left, p.kernel_width, p.stride_across, p.in_width);
      const A weight = A(1) / static_cast<A>(high * wide);
      const auto d = load_some<V>(dy + at, aligned);
#pragma unroll
      for (int j = 0; j < V; ++j) sums[j] += widen(d.lane[j]) * weight;
    });
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(sums[j]);
    store_some(dx + i * V, result, aligned);
  });
}

void run_max_pool_grad(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Pool& p = pool_of(k);
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const std::int64_t vectors = k.out(0).elements() / V;
    const bool aligned = all_aligned({k.out(0).data, k.in(0).data, k.in(1).data});
    const auto launch = [&]<typename I>(const I* index) {
      max_pool_grad<T, V, I><<<blocks_for_pixels(vectors), kThreads, 0, queue_of(k)>>>(
          k.out(0).as<T>(), k.in(0).as<const T>(), index, p, vectors, aligned);
    };
    k.in(1).dtype() == DType::u8 ? launch(k.in(1).as<const std::uint8_t>())
                                 : launch(k.in(1).as<const std::int32_t>());
  });
  check_launch("max_pool2d_grad");
}

void run_avg_pool_grad(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Pool& p = pool_of(k);
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const std::int64_t vectors = k.out(0).elements() / V;
    avg_pool_grad<T, V><<<blocks_for_pixels(vectors), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), k.in(0).as<const T>(), p, vectors,
        all_aligned({k.out(0).data, k.in(0).data}));
  });
  check_launch("avg_pool2d_grad");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& in,
                                                std::span<const TensorType> out) {
  return std::make_shared<PoolState>(ops::pool_shape(in, out[0].shape));
}

void add_kernels(KernelTable& table) {
  table.add("max_pool2d_grad", {run_max_pool_grad, prepare});
  table.add("avg_pool2d_grad", {run_avg_pool_grad, prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
