// max_pool2d and avg_pool2d: every result gathers its window.
#include "backend/cuda/kernels/pooling.cuh"

namespace plimsoll::cuda {
namespace {

/// The window's rows or columns [first, last) inside `extent` pixels, if its own first is at `at`.
struct Range {
  std::int64_t first;
  std::int64_t last;
};
__device__ __forceinline__ Range inside(std::int64_t at, std::int64_t size, std::int64_t extent) {
  return {at < 0 ? -at : 0, size < extent - at ? size : extent - at};
}

/// f(vector, number of the pixel in its window) for the pixels of a window inside the picture.
template <typename T, int V, typename F>
__device__ __forceinline__ std::int64_t each_pixel(const Pool& p, const T* x, const Pixel& place,
                                                   bool aligned, F f) {
  const std::int64_t y0 = place.y * p.stride_down - p.top;
  const std::int64_t x0 = place.x * p.stride_across - p.left;
  const Range down = inside(y0, p.kernel_height, p.in_height);
  const Range across = inside(x0, p.kernel_width, p.in_width);
  for (std::int64_t row = down.first; row < down.last; ++row) {
    const T* line =
        x + ((place.plane * p.in_height + y0 + row) * p.in_width + x0) * p.channels + place.channel;
    for (std::int64_t column = across.first; column < across.last; ++column) {
      f(load_some<V>(line + column * p.channels, aligned),
        static_cast<int>(row * p.kernel_width + column));
    }
  }
  return (down.last - down.first) * (across.last - across.first);
}

/// NaN wins over numbers, the first one over others.
template <typename T, int V, typename I>
__global__ void __launch_bounds__(kThreads)
    max_pool(T* y, I* index, const T* x, const Pool p, std::int64_t vectors, bool aligned) {
  using A = Acc<T>;
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel place = pixel_of<V>(i, p.out_height, p.out_width, p.channels);
    A best[V];
    int winner[V];
    bool begun = false;
    each_pixel<T, V>(p, x, place, aligned, [&](const Vec<T, V>& some, int number) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const A value = widen(some.lane[j]);
        const bool wins = !begun || (!(value <= best[j]) && best[j] == best[j]);
        best[j] = wins ? value : best[j];
        winner[j] = wins ? number : winner[j];
      }
      begun = true;
    });
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(best[j]);
    store_some(y + i * V, result, aligned);
    constexpr int kEach = V * sizeof(I) <= 16 ? V : static_cast<int>(16 / sizeof(I));
#pragma unroll
    for (int part = 0; part < V; part += kEach) {
      Vec<I, kEach> places;
#pragma unroll
      for (int j = 0; j < kEach; ++j) places.lane[j] = static_cast<I>(winner[part + j]);
      store_some(index + i * V + part, places, aligned);
    }
  });
}

template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    avg_pool(T* y, const T* x, const Pool p, std::int64_t vectors, bool aligned) {
  using A = Acc<T>;
  for_elements(vectors, [&](std::int64_t i) {
    const Pixel place = pixel_of<V>(i, p.out_height, p.out_width, p.channels);
    A sums[V] = {};
    const std::int64_t pixels =
        each_pixel<T, V>(p, x, place, aligned, [&](const Vec<T, V>& some, int) {
#pragma unroll
          for (int j = 0; j < V; ++j) sums[j] += widen(some.lane[j]);
        });
    Vec<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) result.lane[j] = narrow<T>(sums[j] / static_cast<A>(pixels));
    store_some(y + i * V, result, aligned);
  });
}

void run_max_pool(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Pool& p = pool_of(k);
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const std::int64_t vectors = k.out(0).elements() / V;
    const bool aligned = all_aligned({k.out(0).data, k.out(1).data, k.in(0).data});
    const auto launch = [&]<typename I>(I* index) {
      max_pool<T, V, I><<<blocks_for_pixels(vectors), kThreads, 0, queue_of(k)>>>(
          k.out(0).as<T>(), index, k.in(0).as<const T>(), p, vectors, aligned);
    };
    k.out(1).dtype() == DType::u8 ? launch(k.out(1).as<std::uint8_t>())
                                  : launch(k.out(1).as<std::int32_t>());
  });
  check_launch("max_pool2d");
}

void run_avg_pool(const KernelContext& k) {
  if (k.out(0).elements() == 0) return;
  const Pool& p = pool_of(k);
  with_pixels(k.in(0).dtype(), p.channels, [&]<typename T, int V>() {
    const std::int64_t vectors = k.out(0).elements() / V;
    avg_pool<T, V><<<blocks_for_pixels(vectors), kThreads, 0, queue_of(k)>>>(
        k.out(0).as<T>(), k.in(0).as<const T>(), p, vectors,
        all_aligned({k.out(0).data, k.in(0).data}));
  });
  check_launch("avg_pool2d");
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& in,
                                                std::span<const TensorType>) {
  return std::make_shared<PoolState>(ops::pool_shape(in, in.shape(0)));
}

void add_kernels(KernelTable& table) {
  table.add("max_pool2d", {run_max_pool, prepare});
  table.add("avg_pool2d", {run_avg_pool, prepare});
}

const RegisterKernels kRegistered("cuda", add_kernels);

}  // namespace
}  // namespace plimsoll::cuda
