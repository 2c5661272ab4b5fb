#include "plan/convolution_seconds.h"

#include <algorithm>
#include <array>

namespace plimsoll::plan {
namespace {

using ops::ConvPass;

/// What kernels reach of a device's rate, by pass: with many channels, and with 64 at most, where
/// tiles stay half empty.
struct Share {
  double wide;
  double narrow;
};
using Shares = std::array<Share, 3>;

// Measured on an H200 with cuDNN 9.14: ResNet-50 and U-Net, of rates that products reach.
constexpr Shares k16 = {{{1.08, 0.75}, {1.03, 0.66}, {0.92, 0.76}}};
constexpr Shares kTf32 = {{{1.10, 0.72}, {1.0, 0.70}, {0.55, 0.33}}};
constexpr Shares kF32 = {{{0.6, 0.7}, {0.45, 0.45}, {0.34, 0.25}}};
/// Of the rate of f32: multiply-adds of single numbers.
constexpr std::array<double, 3> kDepthwise = {0.18, 0.18, 0.09};
constexpr double kTraffic = 0.8;
/// Of the memory's rate that cuDNN's own copies of pictures reach.
constexpr double kCopies = 0.4;

double bytes_of(const Shape& shape, DType dtype) {
  return static_cast<double>(shape.elements()) * static_cast<double>(dtype_size(dtype));
}

/// Channels of the result, which tiles are wide.
std::int64_t columns(const ops::ConvWork& work) {
  const std::int64_t in = work.shape.in_channels / work.shape.groups;
  const std::int64_t out = work.shape.out_channels / work.shape.groups;
  switch (work.pass) {
    case ConvPass::forward:
      return out;
    case ConvPass::by_input:
      return in;
    default:
      return std::min(in, out);
  }
}

/// Of copies of pictures with other channels or in another order.
double copies_seconds(const ops::ConvWork& work, const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  double seconds = 0;
  const auto add = [&](const Shape& shape, std::int64_t channels) {
    if (ops::takes_picture(s.nhwc, channels, work.dtype, work.tf32)) return;
    const double padded = bytes_of(shape, work.dtype) *
                          static_cast<double>((channels + 7) / 8 * 8) /
                          static_cast<double>(channels);
    seconds += (bytes_of(shape, work.dtype) + padded) / (kCopies * device.bytes_per_second);
  };
  add(s.in_shape(), s.in_channels);
  add(s.out_shape(), s.out_channels);
  return seconds;
}

}  // namespace

double convolution_seconds(const ops::ConvWork& work, const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  const ops::ConvRoute route = ops::conv_route(s, work.pass, work.dtype, work.tf32);
  const auto pass = static_cast<std::size_t>(work.pass);
  const double bytes = bytes_of(s.in_shape(), work.dtype) + bytes_of(s.out_shape(), work.dtype) +
                       bytes_of(s.weight_shape(), work.dtype);
  const double moved = bytes / (kTraffic * device.bytes_per_second) + device.launch_seconds;
  if (route.kernel == ops::ConvKernel::depthwise) {
    return std::max(s.flops() / (kDepthwise[pass] * device.flops_f32), moved);
  }
  const bool full = work.dtype == DType::f32 && !work.tf32;
  const Shares& shares = full ? kF32 : work.dtype == DType::f32 ? kTf32 : k16;
  const double share = columns(work) <= 64 ? shares[pass].narrow : shares[pass].wide;
  return std::max(s.flops() / (share * device.flops(work.dtype, work.tf32)), moved) +
         copies_seconds(work, device);
}

}  // namespace plimsoll::plan
