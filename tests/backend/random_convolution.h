#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

#include "backend/cuda/kernels/convolution.h"

namespace plimsoll::test {

/// Convolutions of any shape, drawn as bench/convolution_shapes.py draws them: 1 to 2048 channels,
/// groups, strides, dilations, odd sizes. Unlike there, one in ten has more padding on one side,
/// one in eight has channels first, and every pass, dtype and bias comes up. The same seed gives
/// the same ones everywhere.
class RandomConvolutions {
 public:
  explicit RandomConvolutions(std::uint64_t seed) : random_(seed) {}

  cuda::ConvSpec next() {
    for (;;) {
      const cuda::ConvSpec spec = draw();
      if (fits(spec)) return spec;
    }
  }

 private:
  static constexpr std::int64_t kMostChannels = 2048;
  static constexpr double kMostBytes = 2e9;
  static constexpr double kMostFlops = 10e12;

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double share) { return uniform() < share; }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(end));
  }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *std::next(list.begin(), below(static_cast<std::int64_t>(list.size())));
  }
  std::int64_t log_uniform(std::int64_t least, std::int64_t most) {
    const double low = std::log(static_cast<double>(least));
    const double high = std::log(static_cast<double>(most));
    return std::llround(std::exp(low + uniform() * (high - low)));
  }
  /// Half of them as they come, half as people choose them.
  std::int64_t channels() {
    const std::int64_t value = log_uniform(1, kMostChannels);
    const auto unit = pick<std::int64_t>({1, 1, 1, 8, 16, 32});
    return value >= unit ? value / unit * unit : value;
  }

  cuda::ConvSpec draw() {
    cuda::ConvSpec spec;
    ops::ConvShape& s = spec.shape;
    spec.pass = pick({ops::ConvPass::forward, ops::ConvPass::by_input, ops::ConvPass::by_weight});
    spec.dtype = pick({DType::bf16, DType::bf16, DType::f16, DType::f32, DType::f32});
    spec.tf32 = spec.dtype == DType::f32 && chance(0.5);
    spec.bias = spec.pass == ops::ConvPass::forward && chance(0.5);
    s.nhwc = !chance(0.125);
    s.n = log_uniform(1, 256);
    s.in_channels = channels();
    s.out_channels = channels();
    const double kind = uniform();
    if (kind < 0.15) {
      s.out_channels = s.groups = s.in_channels;
    } else if (kind < 0.35) {
      s.groups = log_uniform(2, 64);
      s.in_channels = std::max<std::int64_t>(1, s.in_channels / s.groups) * s.groups;
      s.out_channels = std::max<std::int64_t>(1, s.out_channels / s.groups) * s.groups;
    }
    s.in_height = log_uniform(4, 256);
    s.in_width = chance(0.5) ? s.in_height : log_uniform(4, 256);
    s.kernel_height = pick<std::int64_t>({1, 1, 2, 3, 3, 3, 4, 5, 7});
    s.kernel_width = chance(0.7) ? s.kernel_height : pick<std::int64_t>({1, 3, 5, 7});
    s.stride_down = pick<std::int64_t>({1, 1, 1, 2, 3});
    s.stride_across = chance(0.8) ? s.stride_down : pick<std::int64_t>({1, 2});
    if (chance(0.2)) {
      s.dilation_down = 1 + below(3);
      s.dilation_across = 1 + below(3);
    }
    const bool same = chance(0.6);
    const std::int64_t above =
        same ? s.dilation_down * (s.kernel_height - 1) / 2 : below(s.kernel_height);
    const std::int64_t before =
        same ? s.dilation_across * (s.kernel_width - 1) / 2 : below(s.kernel_width);
    s.padding = {.top = above, .bottom = above, .left = before, .right = before};
    if (chance(0.1)) {
      s.padding.bottom += below(s.kernel_height);
      s.padding.left += below(s.kernel_width);
    }
    const auto extent = [](std::int64_t in, std::int64_t around, std::int64_t dilation,
                           std::int64_t kernel, std::int64_t stride) {
      const std::int64_t left = in + around - dilation * (kernel - 1) - 1;
      return left < 0 ? 0 : left / stride + 1;
    };
    s.out_height = extent(s.in_height, s.padding.top + s.padding.bottom, s.dilation_down,
                          s.kernel_height, s.stride_down);
    s.out_width = extent(s.in_width, s.padding.left + s.padding.right, s.dilation_across,
                         s.kernel_width, s.stride_across);
    return spec;
  }

  static bool fits(const cuda::ConvSpec& spec) {
    const ops::ConvShape& s = spec.shape;
    if (s.out_height < 1 || s.out_width < 1) return false;
    if (s.in_channels > kMostChannels || s.out_channels > kMostChannels) return false;
    const auto size = static_cast<double>(dtype_size(spec.dtype));
    for (const Shape& each : {s.in_shape(), s.out_shape(), s.weight_shape()}) {
      if (static_cast<double>(each.elements()) * size > kMostBytes) return false;
    }
    return s.flops() <= kMostFlops;
  }

  std::mt19937_64 random_;
};

}  // namespace plimsoll::test
