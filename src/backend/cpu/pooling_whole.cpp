// global_avg_pool2d, upsample_nearest2d and their gradients.
#include <algorithm>

#include <plimsoll/backend/common/picture.h>
#include <plimsoll/base/parallel.h>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/pooling.h"

namespace plimsoll::cpu {
namespace {

constexpr std::int64_t kStrip = 256;

using backend::Picture;

Picture picture_of(const KernelContext& k, const Shape& shape) {
  return backend::picture_of(k.attributes.flag("nhwc"), shape);
}

std::int64_t grain_for(std::int64_t each) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, each));
}

/// Sums in 16 lanes, put together at the end: the order depends on the count alone.
template <typename T>
Acc<T> lane_sum(const T* from, std::int64_t count) {
  Acc<T> lanes[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::int64_t l = 0; l < 16; ++l) lanes[l] += static_cast<Acc<T>>(from[i + l]);
  }
  Acc<T> total{};
  for (const Acc<T> lane : lanes) total += lane;
  for (; i < count; ++i) total += static_cast<Acc<T>>(from[i]);
  return total;
}

void run_global(const KernelContext& k) {
  const Picture p = picture_of(k, k.in(0).shape());
  const std::int64_t pixels = p.height * p.width;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const T* x = k.in(0).as<const T>();
    T* y = k.out(0).as<T>();
    parallel_for(
        p.planes, grain_for(pixels * p.channels), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t plane = first; plane < last; ++plane) {
            const T* from = x + plane * pixels * p.channels;
            if (p.channels == 1) {
              y[plane] = static_cast<T>(lane_sum(from, pixels) / static_cast<A>(pixels));
              continue;
            }
            for (std::int64_t c = 0; c < p.channels; c += kStrip) {
              const std::int64_t width = std::min(kStrip, p.channels - c);
              A sums[kStrip];
              std::fill_n(sums, width, A(0));
              for (std::int64_t i = 0; i < pixels; ++i) {
                const T* row = from + i * p.channels + c;
                for (std::int64_t j = 0; j < width; ++j) sums[j] += static_cast<A>(row[j]);
              }
              for (std::int64_t j = 0; j < width; ++j) {
                y[plane * p.channels + c + j] = static_cast<T>(sums[j] / static_cast<A>(pixels));
              }
            }
          }
        });
  });
}

void run_global_grad(const KernelContext& k) {
  const Picture p = picture_of(k, k.out(0).shape());
  const std::int64_t pixels = p.height * p.width;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const T* dy = k.in(0).as<const T>();
    T* dx = k.out(0).as<T>();
    parallel_for(p.planes, grain_for(pixels * p.channels),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t plane = first; plane < last; ++plane) {
                     T* to = dx + plane * pixels * p.channels;
                     for (std::int64_t c = 0; c < p.channels; ++c) {
                       to[c] = static_cast<T>(static_cast<A>(dy[plane * p.channels + c]) /
                                              static_cast<A>(pixels));
                     }
                     if (p.channels == 1) {
                       std::fill_n(to + 1, pixels - 1, to[0]);
                       continue;
                     }
                     for (std::int64_t i = 1; i < pixels; ++i)
                       std::copy_n(to, p.channels, to + i * p.channels);
                   }
                 });
  });
}

void run_upsample(const KernelContext& k) {
  const Picture p = picture_of(k, k.in(0).shape());
  const std::int64_t factor = k.attributes.integer("factor");
  const std::int64_t line = p.width * factor * p.channels;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    const T* x = k.in(0).as<const T>();
    T* y = k.out(0).as<T>();
    parallel_for(p.planes * p.height, grain_for(line * factor),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t row = first; row < last; ++row) {
                     const T* from = x + row * p.width * p.channels;
                     T* const to = y + row * factor * line;
                     T* at = to;
                     for (std::int64_t i = 0; i < p.width; ++i) {
                       for (std::int64_t f = 0; f < factor; ++f) {
                         at = std::copy_n(from + i * p.channels, p.channels, at);
                       }
                     }
                     for (std::int64_t f = 1; f < factor; ++f) std::copy_n(to, line, to + f * line);
                   }
                 });
  });
}

void run_upsample_grad(const KernelContext& k) {
  const Picture p = picture_of(k, k.out(0).shape());
  const std::int64_t factor = k.attributes.integer("factor");
  const std::int64_t line = p.width * factor * p.channels;
  with_float(k.in(0).dtype(), [&]<typename T>() {
    using A = Acc<T>;
    const T* dy = k.in(0).as<const T>();
    T* dx = k.out(0).as<T>();
    parallel_for(p.planes * p.height, grain_for(line * factor),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t row = first; row < last; ++row) {
                     const T* from = dy + row * factor * line;
                     for (std::int64_t i = 0; i < p.width; ++i) {
                       for (std::int64_t c = 0; c < p.channels; c += kStrip) {
                         const std::int64_t width = std::min(kStrip, p.channels - c);
                         A sums[kStrip];
                         std::fill_n(sums, width, A(0));
                         for (std::int64_t fy = 0; fy < factor; ++fy) {
                           for (std::int64_t fx = 0; fx < factor; ++fx) {
                             const T* at = from + fy * line + (i * factor + fx) * p.channels + c;
                             for (std::int64_t j = 0; j < width; ++j)
                               sums[j] += static_cast<A>(at[j]);
                           }
                         }
                         T* to = dx + (row * p.width + i) * p.channels + c;
                         for (std::int64_t j = 0; j < width; ++j) to[j] = static_cast<T>(sums[j]);
                       }
                     }
                   }
                 });
  });
}

void add_kernels(KernelTable& table) {
  table.add("global_avg_pool2d", {run_global});
  table.add("global_avg_pool2d_grad", {run_global_grad});
  table.add("upsample_nearest2d", {run_upsample});
  table.add("upsample_nearest2d_grad", {run_upsample_grad});
}

const RegisterKernels kRegistered("cpu", add_kernels);

}  // namespace
}  // namespace plimsoll::cpu
