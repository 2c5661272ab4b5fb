// max_pool2d, avg_pool2d and their gradients. Inner loops run over a strip of results that lie
// beside each other: channels in NHWC, columns in NCHW.
#include <algorithm>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/pooling.h"

namespace plimsoll::cpu {
namespace {

using ops::ConvShape;

/// Results in a strip.
constexpr std::int64_t kStrip = 256;

std::int64_t grain_for(std::int64_t each) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, each));
}

/// The window rows or columns [first, last) that lie within `extent` pixels when the window's
/// first one is at `at`.
struct Range {
  std::int64_t first;
  std::int64_t last;
};
Range inside(std::int64_t at, std::int64_t size, std::int64_t extent) {
  return {std::max<std::int64_t>(0, -at), std::min(size, extent - at)};
}

/// What a pool does with the pixels of a strip of windows. `step` is from one window's pixel to
/// the next one's, 1 or the stride.
template <typename A>
struct Strip {
  A best[kStrip];
  std::int32_t place[kStrip];
  A count[kStrip];

  void start(std::int64_t width) {
    std::fill_n(place, width, -1);
    std::fill_n(best, width, A(0));
    std::fill_n(count, width, A(0));
  }

  template <typename T, std::int64_t kStep>
  void take_max_by(const T* __restrict from, std::int64_t first, std::int64_t last,
                   std::int64_t step, std::int32_t pixel) {
    const std::int64_t by = kStep > 0 ? kStep : step;
    for (std::int64_t i = first; i < last; ++i) {
      const auto value = static_cast<A>(from[i * by]);
      // NaN wins over numbers, the first one over others.
      const bool wins = place[i] < 0 || (!(value <= best[i]) && best[i] == best[i]);
      best[i] = wins ? value : best[i];
      place[i] = wins ? pixel : place[i];
    }
  }
  template <typename T>
  void take_max(const T* from, std::int64_t first, std::int64_t last, std::int64_t step,
                std::int32_t pixel) {
    if (step == 1) return take_max_by<T, 1>(from, first, last, step, pixel);
    if (step == 2) return take_max_by<T, 2>(from, first, last, step, pixel);
    take_max_by<T, 0>(from, first, last, step, pixel);
  }

  template <typename T>
  void take_sum(const T* from, std::int64_t first, std::int64_t last, std::int64_t step) {
    for (std::int64_t i = first; i < last; ++i) {
      best[i] += static_cast<A>(from[i * step]);
      count[i] += A(1);
    }
  }
};

/// Runs `take(strip, pixels, first, last, step, pixel)` for every pixel of the windows of every
/// strip and `give(strip, offset of its first result, width)` when it is complete.
template <typename T, typename Take, typename Give>
void each_strip(const ConvShape& s, const T* x, Take take, Give give) {
  using S = Strip<Acc<T>>;
  if (s.nhwc) {
    // A row of results at a time, by channels.
    parallel_for(
        s.n * s.out_height, grain_for(s.out_width * s.in_channels),
        [&](std::int64_t begin, std::int64_t end) {
          S strip;
          for (std::int64_t row = begin; row < end; ++row) {
            const std::int64_t y0 = row % s.out_height * s.stride_down - s.padding.top;
            const Range down = inside(y0, s.kernel_height, s.in_height);
            const T* picture = x + row / s.out_height * s.in_height * s.in_width * s.in_channels;
            for (std::int64_t ox = 0; ox < s.out_width; ++ox) {
              const std::int64_t x0 = ox * s.stride_across - s.padding.left;
              const Range across = inside(x0, s.kernel_width, s.in_width);
              for (std::int64_t c = 0; c < s.in_channels; c += kStrip) {
                const std::int64_t width = std::min(kStrip, s.in_channels - c);
                strip.start(width);
                for (std::int64_t ky = down.first; ky < down.last; ++ky) {
                  for (std::int64_t kx = across.first; kx < across.last; ++kx) {
                    take(strip, picture + ((y0 + ky) * s.in_width + x0 + kx) * s.in_channels + c, 0,
                         width, 1, static_cast<std::int32_t>(ky * s.kernel_width + kx));
                  }
                }
                give(strip, (row * s.out_width + ox) * s.in_channels + c, width);
              }
            }
          }
        });
    return;
  }
  parallel_for(s.n * s.in_channels * s.out_height, grain_for(s.out_width * s.kernel_height),
               [&](std::int64_t begin, std::int64_t end) {
                 S strip;
                 for (std::int64_t row = begin; row < end; ++row) {
                   const std::int64_t y0 = row % s.out_height * s.stride_down - s.padding.top;
                   const Range down = inside(y0, s.kernel_height, s.in_height);
                   const T* plane = x + row / s.out_height * s.in_height * s.in_width;
                   for (std::int64_t ox = 0; ox < s.out_width; ox += kStrip) {
                     const std::int64_t width = std::min(kStrip, s.out_width - ox);
                     strip.start(width);
                     for (std::int64_t ky = down.first; ky < down.last; ++ky) {
                       for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
                         // Windows of the strip whose pixel kx is inside the row.
                         const std::int64_t x0 = ox * s.stride_across - s.padding.left + kx;
                         const std::int64_t first =
                             x0 >= 0 ? 0 : (-x0 + s.stride_across - 1) / s.stride_across;
                         const std::int64_t last =
                             x0 >= s.in_width
                                 ? 0
                                 : std::min(width, (s.in_width - 1 - x0) / s.stride_across + 1);
                         take(strip, plane + (y0 + ky) * s.in_width + x0, first, last,
                              s.stride_across, static_cast<std::int32_t>(ky * s.kernel_width + kx));
                       }
                     }
                     give(strip, row * s.out_width + ox, width);
                   }
                 }
               });
}

template <typename T, typename I>
void max_pool(const KernelContext& k, const ConvShape& s) {
  T* y = k.out(0).as<T>();
  I* index = k.out(1).as<I>();
  each_strip(
      s, k.in(0).as<const T>(),
      [](auto& strip, const T* from, std::int64_t first, std::int64_t last, std::int64_t step,
         std::int32_t pixel) { strip.take_max(from, first, last, step, pixel); },
      [&](const auto& strip, std::int64_t at, std::int64_t width) {
        for (std::int64_t i = 0; i < width; ++i) y[at + i] = static_cast<T>(strip.best[i]);
        for (std::int64_t i = 0; i < width; ++i) index[at + i] = static_cast<I>(strip.place[i]);
      });
}

void run_max_pool(const KernelContext& k) {
  const ConvShape& s = pool_of(k);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    k.out(1).dtype() == DType::u8 ? max_pool<T, std::uint8_t>(k, s)
                                  : max_pool<T, std::int32_t>(k, s);
  });
}

void run_avg_pool(const KernelContext& k) {
  const ConvShape& s = pool_of(k);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    T* y = k.out(0).as<T>();
    each_strip(
        s, k.in(0).as<const T>(),
        [](auto& strip, const T* from, std::int64_t first, std::int64_t last, std::int64_t step,
           std::int32_t) { strip.take_sum(from, first, last, step); },
        [&](const auto& strip, std::int64_t at, std::int64_t width) {
          for (std::int64_t i = 0; i < width; ++i) {
            y[at + i] = static_cast<T>(strip.best[i] / strip.count[i]);
          }
        });
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
