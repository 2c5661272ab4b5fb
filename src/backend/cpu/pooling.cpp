// max_pool2d and avg_pool2d. The inner loops run over a strip of windows that lie beside each other
// and have the same pixels inside the picture: channels in NHWC, columns in NCHW.
#include "backend/cpu/pooling.h"

#include <algorithm>
#include <type_traits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"

namespace plimsoll::cpu {
namespace {

using ops::ConvShape;

/// Windows side by side: pixel (row, column) of window i is at from[row * line + column * pixel +
/// i * step].
template <typename T>
struct Windows {
  const T* from;
  std::int64_t line;
  std::int64_t pixel;
  std::int64_t step;
  std::int64_t count;
  std::int64_t rows;          ///< of each window inside the picture
  std::int64_t columns;       ///< likewise
  std::int64_t first_pixel;   ///< which pixel of the window is the first inside
  std::int64_t window_width;  ///< with what is outside
};

/// The largest of `kLanes` windows from number `at` on. NaN wins over numbers, the first over
/// others.
template <std::int64_t kLanes, std::int64_t kStep, typename T, typename I>
__attribute__((always_inline)) inline void max_lanes(const Windows<T>& w, std::int64_t at,
                                                     T* __restrict y, I* __restrict index) {
  using A = Acc<T>;
  const std::int64_t step = kStep > 0 ? kStep : w.step;
  const T* from = w.from + at * step;
  A best[kLanes];
  std::int32_t place[kLanes];
  for (std::int64_t l = 0; l < kLanes; ++l) {
    best[l] = static_cast<A>(from[l * step]);
    place[l] = static_cast<std::int32_t>(w.first_pixel);
  }
  for (std::int64_t row = 0; row < w.rows; ++row) {
    for (std::int64_t column = 0; column < w.columns; ++column) {
      const T* pixels = from + row * w.line + column * w.pixel;
      const auto number = static_cast<std::int32_t>(w.first_pixel + row * w.window_width + column);
      for (std::int64_t l = 0; l < kLanes; ++l) {
        const auto value = static_cast<A>(pixels[l * step]);
        const bool wins = (!(value <= best[l])) & (best[l] == best[l]);
        best[l] = wins ? value : best[l];
        place[l] = wins ? number : place[l];
      }
    }
  }
  for (std::int64_t l = 0; l < kLanes; ++l) y[at + l] = static_cast<T>(best[l]);
  for (std::int64_t l = 0; l < kLanes; ++l) index[at + l] = static_cast<I>(place[l]);
}

/// All windows: the last lanes again where they do not come out even, which changes nothing.
template <std::int64_t kLanes, std::int64_t kStep, typename T, typename I>
__attribute__((always_inline)) inline void max_all(const Windows<T>& w, T* y, I* index) {
  std::int64_t at = 0;
  if (w.count >= kLanes) {
    for (; at + kLanes <= w.count; at += kLanes) max_lanes<kLanes, kStep>(w, at, y, index);
    if (at < w.count) max_lanes<kLanes, kStep>(w, w.count - kLanes, y, index);
    return;
  }
  for (; at < w.count; ++at) max_lanes<1, kStep>(w, at, y, index);
}

#define PLIMSOLL_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))

PLIMSOLL_CLONES void max_f32(const Windows<float>& w, float* y, std::uint8_t* index) {
  max_all<16, 1>(w, y, index);
}
PLIMSOLL_CLONES void max_f32_by_2(const Windows<float>& w, float* y, std::uint8_t* index) {
  max_all<8, 2>(w, y, index);
}

template <typename T, typename I>
void max_of(const Windows<T>& w, T* y, I* index) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<I, std::uint8_t>) {
    if (w.step == 1) return max_f32(w, y, index);
    if (w.step == 2) return max_f32_by_2(w, y, index);
  }
  max_all<8, 0>(w, y, index);
}

template <typename T>
void mean_of(const Windows<T>& w, T* y) {
  using A = Acc<T>;
  for (std::int64_t i = 0; i < w.count; ++i) {
    A sum{};
    for (std::int64_t row = 0; row < w.rows; ++row) {
      for (std::int64_t column = 0; column < w.columns; ++column) {
        sum += static_cast<A>(w.from[row * w.line + column * w.pixel + i * w.step]);
      }
    }
    y[i] = static_cast<T>(sum / static_cast<A>(w.rows * w.columns));
  }
}

std::int64_t grain_for(std::int64_t each) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, each));
}

/// The window's rows or columns [first, last) inside `extent` pixels, if its own first is at `at`.
struct Range {
  std::int64_t first;
  std::int64_t last;
};
Range inside(std::int64_t at, std::int64_t size, std::int64_t extent) {
  return {std::max<std::int64_t>(0, -at), std::min(size, extent - at)};
}

/// Calls `run(windows, offset of their first result)` for strips that cover all results.
template <typename T, typename Run>
void each_strip(const ConvShape& s, const T* x, Run run) {
  const std::int64_t channels = s.nhwc ? s.in_channels : 1;
  const std::int64_t planes = s.nhwc ? s.n : s.n * s.in_channels;
  const std::int64_t row_elements = s.in_width * channels;
  // Columns whose windows are inside from left to right.
  const std::int64_t low =
      std::min(s.out_width, (s.padding.left + s.stride_across - 1) / s.stride_across);
  const std::int64_t room = s.in_width + s.padding.left - s.kernel_width;
  const std::int64_t high =
      room < 0 ? low : std::clamp(room / s.stride_across + 1, low, s.out_width);
  parallel_for(planes * s.out_height, grain_for(s.out_width * channels * s.kernel_height),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   const std::int64_t y0 = row % s.out_height * s.stride_down - s.padding.top;
                   const Range down = inside(y0, s.kernel_height, s.in_height);
                   const T* line =
                       x + (row / s.out_height * s.in_height + y0 + down.first) * row_elements;
                   for (std::int64_t ox = 0; ox < s.out_width;) {
                     const std::int64_t x0 = ox * s.stride_across - s.padding.left;
                     const Range across = inside(x0, s.kernel_width, s.in_width);
                     const std::int64_t beside =
                         !s.nhwc && ox == low ? std::max<std::int64_t>(1, high - low) : 1;
                     run(Windows<T>{.from = line + (x0 + across.first) * channels,
                                    .line = row_elements,
                                    .pixel = channels,
                                    .step = s.nhwc ? 1 : s.stride_across,
                                    .count = s.nhwc ? channels : beside,
                                    .rows = down.last - down.first,
                                    .columns = across.last - across.first,
                                    .first_pixel = down.first * s.kernel_width + across.first,
                                    .window_width = s.kernel_width},
                         (row * s.out_width + ox) * channels);
                     ox += beside;
                   }
                 }
               });
}

template <typename T, typename I>
void max_pool(const KernelContext& k, const ConvShape& s) {
  T* y = k.out(0).as<T>();
  I* index = k.out(1).as<I>();
  each_strip(s, k.in(0).as<const T>(), [&](const Windows<T>& windows, std::int64_t at) {
    max_of(windows, y + at, index + at);
  });
}

void run_max_pool(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    k.out(1).dtype() == DType::u8 ? max_pool<T, std::uint8_t>(k, pool_of(k))
                                  : max_pool<T, std::int32_t>(k, pool_of(k));
  });
}

void run_avg_pool(const KernelContext& k) {
  with_float(k.in(0).dtype(), [&]<typename T>() {
    T* y = k.out(0).as<T>();
    each_strip(pool_of(k), k.in(0).as<const T>(),
               [&](const Windows<T>& windows, std::int64_t at) { mean_of(windows, y + at); });
  });
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& in,
                                                std::span<const TensorType>) {
  return std::make_shared<PoolState>(ops::pool_shape(in, in.shape(0)));
}

}  // namespace

void add_pooling_kernels(KernelTable& table) {
  table.add("max_pool2d", {run_max_pool, prepare});
  table.add("avg_pool2d", {run_avg_pool, prepare});
  add_pooling_grad_kernels(table);
  add_pooling_whole_kernels(table);
}

}  // namespace plimsoll::cpu
