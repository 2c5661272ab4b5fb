// max_pool2d and avg_pool2d. The inner loops run over a strip of windows that lie beside each other
// and have the same pixels inside the picture: channels in NHWC, columns in NCHW.
#pragma GCC optimize("O3")

#include "backend/cpu/pooling.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/clones.h"
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
  const T* end;               ///< of all pictures
};

/// The largest of window number `at`. NaN wins over numbers, the first one over others.
template <typename T, typename I>
void max_one(const Windows<T>& w, std::int64_t at, T* y, I* index) {
  using A = Acc<T>;
  const T* from = w.from + at * w.step;
  auto best = static_cast<A>(*from);
  std::int64_t place = w.first_pixel;
  for (std::int64_t row = 0; row < w.rows; ++row) {
    for (std::int64_t column = 0; column < w.columns; ++column) {
      const auto value = static_cast<A>(from[row * w.line + column * w.pixel]);
      const bool wins = (!(value <= best)) & (best == best);
      best = wins ? value : best;
      place = wins ? w.first_pixel + row * w.window_width + column : place;
    }
  }
  y[at] = static_cast<T>(best);
  index[at] = static_cast<I>(place);
}

// The same for f32 in vectors, which compilers do not find by themselves. Vectors are passed by
// reference, as by value they would depend on the instruction set.
constexpr std::int64_t kLanes = 8;
using Floats = float __attribute__((vector_size(32)));
using Places = std::int32_t __attribute__((vector_size(32)));
using Indices = std::uint8_t __attribute__((vector_size(8)));

/// Every Step-th of the floats from `from` on, without reading past the last.
template <std::int64_t Step>
__attribute__((always_inline)) inline void load(const float* from, Floats& to) {
  std::memcpy(&to, from, sizeof to);
  if constexpr (Step == 2) {
    Floats upper;
    std::memcpy(&upper, from + kLanes - 1, sizeof upper);
    to = __builtin_shufflevector(to, upper, 0, 2, 4, 6, 9, 11, 13, 15);
  }
}

template <std::int64_t Step>
__attribute__((always_inline)) inline void max_lanes_f32(const Windows<float>& w, std::int64_t at,
                                                         float* y, std::uint8_t* index) {
  const float* from = w.from + at * Step;
  Floats best;
  load<Step>(from, best);
  Places place = Places{} + static_cast<std::int32_t>(w.first_pixel);
  for (std::int64_t row = 0; row < w.rows; ++row) {
    for (std::int64_t column = 0; column < w.columns; ++column) {
      const auto number = static_cast<std::int32_t>(w.first_pixel + row * w.window_width + column);
      Floats value;
      load<Step>(from + row * w.line + column * w.pixel, value);
      const Places wins = ~(value <= best) & (best == best);
      best = wins ? value : best;
      place = wins ? Places{} + number : place;
    }
  }
  std::memcpy(y + at, &best, sizeof best);
  const Indices narrow = __builtin_convertvector(place, Indices);
  std::memcpy(index + at, &narrow, sizeof narrow);
}

template <std::int64_t Step>
__attribute__((always_inline)) inline void max_all_f32(const Windows<float>& w, float* y,
                                                       std::uint8_t* index) {
  std::int64_t at = 0;
  if (w.count < kLanes) {
    const float* last = w.from + (w.rows - 1) * w.line + (w.columns - 1) * w.pixel;
    if (w.end - last >= (kLanes - 1) * Step + 1) {
      // What follows is read, too, and not used.
      float values[kLanes];
      std::uint8_t places[kLanes];
      max_lanes_f32<Step>(w, 0, values, places);
      for (; at < w.count; ++at) {
        y[at] = values[at];
        index[at] = places[at];
      }
    }
    for (; at < w.count; ++at) max_one(w, at, y, index);
    return;
  }
  for (; at + kLanes <= w.count; at += kLanes) max_lanes_f32<Step>(w, at, y, index);
  // The last ones again where they do not come out even, which changes nothing.
  if (at < w.count) max_lanes_f32<Step>(w, w.count - kLanes, y, index);
}

PLIMSOLL_CLONES void max_f32(const Windows<float>& w, float* y, std::uint8_t* index) {
  max_all_f32<1>(w, y, index);
}
PLIMSOLL_CLONES void max_f32_by_2(const Windows<float>& w, float* y, std::uint8_t* index) {
  max_all_f32<2>(w, y, index);
}

template <typename T, typename I>
void max_of(const Windows<T>& w, T* y, I* index) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<I, std::uint8_t>) {
    if (w.step == 1) return max_f32(w, y, index);
    if (w.step == 2) return max_f32_by_2(w, y, index);
  }
  for (std::int64_t at = 0; at < w.count; ++at) max_one(w, at, y, index);
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
  const T* const end_of_all = x + s.in_shape().elements();
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
                                    .window_width = s.kernel_width,
                                    .end = end_of_all},
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

void add_kernels(KernelTable& table) {
  table.add("max_pool2d", {run_max_pool, prepare});
  table.add("avg_pool2d", {run_avg_pool, prepare});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
