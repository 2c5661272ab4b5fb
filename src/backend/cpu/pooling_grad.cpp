// Gradients of the pools: every pixel gathers from the windows it is in, in their order, so that
// each result is rounded once and threads do not meet.
#include <algorithm>
#include <array>
#include <type_traits>

#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/pooling.h"

namespace plimsoll::cpu {
namespace {

using ops::ConvShape;

constexpr std::int64_t kStrip = 256;

/// The windows [first, last) along one axis that contain the pixel `at`.
struct Range {
  std::int64_t first;
  std::int64_t last;
};
Range windows_with(std::int64_t at, std::int64_t before, std::int64_t size, std::int64_t stride,
                   std::int64_t places) {
  const std::int64_t shifted = at + before;
  const std::int64_t first = shifted < size ? 0 : (shifted - size) / stride + 1;
  return {first, std::min(places, shifted / stride + 1)};
}

/// Pixels of the window at place `place` along one axis that are inside the picture.
std::int64_t pixels_of(std::int64_t place, std::int64_t before, std::int64_t size,
                       std::int64_t stride, std::int64_t extent) {
  const std::int64_t at = place * stride - before;
  return std::min(size, extent - at) - std::max<std::int64_t>(0, -at);
}

/// Calls `add(window, pixel, weight)` for the windows that pixel (y, x) is in: the window's place
/// in a plane, which of its pixels this is, and one over how many it has.
template <typename A, typename Add>
void each_window(const ConvShape& s, Range down, std::int64_t y, std::int64_t x, Add add) {
  const Range across =
      windows_with(x, s.padding.left, s.kernel_width, s.stride_across, s.out_width);
  for (std::int64_t oy = down.first; oy < down.last; ++oy) {
    const std::int64_t ky = y + s.padding.top - oy * s.stride_down;
    const std::int64_t high =
        pixels_of(oy, s.padding.top, s.kernel_height, s.stride_down, s.in_height);
    for (std::int64_t ox = across.first; ox < across.last; ++ox) {
      const std::int64_t kx = x + s.padding.left - ox * s.stride_across;
      const std::int64_t wide =
          pixels_of(ox, s.padding.left, s.kernel_width, s.stride_across, s.in_width);
      add(oy * s.out_width + ox, ky * s.kernel_width + kx, A(1) / static_cast<A>(high * wide));
    }
  }
}

/// dx from dy; `part(dy, index, pixel, weight)` is what one window gives to one of its pixels.
template <typename T, typename I, typename Part>
void gather(const KernelContext& k, const ConvShape& s, const I* index, Part part) {
  using A = Acc<T>;
  const T* dy = k.in(0).as<const T>();
  T* dx = k.out(0).as<T>();
  const std::int64_t places = s.out_height * s.out_width;
  const std::int64_t channels = s.nhwc ? s.in_channels : 1;
  const std::int64_t planes = s.nhwc ? s.n : s.n * s.in_channels;
  const std::int64_t grain =
      std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, s.in_width * channels));
  parallel_for(planes * s.in_height, grain, [&](std::int64_t begin, std::int64_t end) {
    A sums[kStrip];
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % s.in_height;
      const std::int64_t plane = row / s.in_height * places;
      const Range down =
          windows_with(y, s.padding.top, s.kernel_height, s.stride_down, s.out_height);
      for (std::int64_t x = 0; x < s.in_width; ++x) {
        for (std::int64_t c = 0; c < channels; c += kStrip) {
          const std::int64_t width = std::min(kStrip, channels - c);
          std::fill_n(sums, width, A(0));
          each_window<A>(s, down, y, x, [&](std::int64_t window, std::int64_t pixel, A weight) {
            const std::int64_t at = (plane + window) * channels + c;
            for (std::int64_t i = 0; i < width; ++i) {
              sums[i] += part(static_cast<A>(dy[at + i]), index + (index == nullptr ? 0 : at + i),
                              pixel, weight);
            }
          });
          T* to = dx + (row * s.in_width + x) * channels + c;
          for (std::int64_t i = 0; i < width; ++i) to[i] = static_cast<T>(sums[i]);
        }
      }
    }
  });
}

/// The same where T is what is computed in: a pass over dy instead of dx, one picture (in NCHW one
/// plane) to a thread.
template <typename T, typename I>
void scatter(const KernelContext& k, const ConvShape& s, const I* index) {
  const T* dy = k.in(0).as<const T>();
  T* dx = k.out(0).as<T>();
  const std::int64_t channels = s.nhwc ? s.in_channels : 1;
  const std::int64_t planes = s.nhwc ? s.n : s.n * s.in_channels;
  const std::int64_t results = s.out_height * s.out_width * channels;
  const std::int64_t elements = s.in_height * s.in_width * channels;
  // From a window's first pixel to its others.
  std::array<std::int64_t, 256> offsets{};
  const std::int64_t pixels = s.kernel_height * s.kernel_width;
  const auto offset_of = [&](std::int64_t pixel) {
    return (pixel / s.kernel_width * s.in_width + pixel % s.kernel_width) * channels;
  };
  for (std::int64_t i = 0; i < std::min<std::int64_t>(pixels, 256); ++i) {
    offsets[static_cast<std::size_t>(i)] = offset_of(i);
  }
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, elements));
  parallel_for(planes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      T* const to = dx + plane * elements;
      std::fill_n(to, elements, T(0));
      std::int64_t at = plane * results;
      for (std::int64_t oy = 0; oy < s.out_height; ++oy) {
        const std::int64_t y0 = oy * s.stride_down - s.padding.top;
        for (std::int64_t ox = 0; ox < s.out_width; ++ox) {
          const std::int64_t x0 = ox * s.stride_across - s.padding.left;
          const std::int64_t window = (y0 * s.in_width + x0) * channels;
          for (std::int64_t c = 0; c < channels; ++c, ++at) {
            const auto pixel = static_cast<std::size_t>(index[at]);
            const std::int64_t offset =
                pixel < 256 ? offsets[pixel] : offset_of(static_cast<std::int64_t>(pixel));
            to[window + offset + c] += dy[at];
          }
        }
      }
    }
  });
}

template <typename T, typename I>
void max_pool_grad(const KernelContext& k, const ConvShape& s) {
  const I* index = k.in(1).as<const I>();
  if constexpr (std::is_same_v<T, Acc<T>>) {
    scatter<T, I>(k, s, index);
  } else {
    gather<T, I>(k, s, index, [](auto dy, const I* at, std::int64_t pixel, auto) {
      return static_cast<std::int32_t>(*at) == static_cast<std::int32_t>(pixel) ? dy
                                                                                : decltype(dy)(0);
    });
  }
}

void run_max_pool_grad(const KernelContext& k) {
  const ConvShape& s = pool_of(k);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    k.in(1).dtype() == DType::u8 ? max_pool_grad<T, std::uint8_t>(k, s)
                                 : max_pool_grad<T, std::int32_t>(k, s);
  });
}

void run_avg_pool_grad(const KernelContext& k) {
  const ConvShape& s = pool_of(k);
  with_float(k.in(0).dtype(), [&]<typename T>() {
    gather<T, std::uint8_t>(
        k, s, nullptr,
        [](auto dy, const std::uint8_t*, std::int64_t, auto weight) { return dy * weight; });
  });
}

std::shared_ptr<const ops::KernelState> prepare(const ops::OpInputs& in,
                                                std::span<const TensorType> out) {
  return std::make_shared<PoolState>(ops::pool_shape(in, out[0].shape));
}

void add_kernels(KernelTable& table) {
  table.add("max_pool2d_grad", {run_max_pool_grad, prepare});
  table.add("avg_pool2d_grad", {run_avg_pool_grad, prepare});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
