#include "plan/convolution_seconds.h"

#include <algorithm>
#include <array>

#include <plimsoll/ops/depthwise_rows.h>

#include "plan/product_seconds.h"

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
constexpr Shares k16 = {{{1.08, 0.75}, {1.03, 0.66}, {0.92, 1.0}}};
constexpr Shares kTf32 = {{{1.10, 0.72}, {1.0, 0.70}, {0.55, 0.33}}};
constexpr Shares kF32 = {{{0.6, 0.7}, {0.45, 0.45}, {0.34, 0.25}}};
/// Our own depthwise kernels, fitted to EfficientNet-B0's there and to random ones: the traffic's
/// time and the arithmetic's, with these shares of f32's rate. `rows`: see has_depthwise_rows.
/// `single`: of either, where channels are no multiple of 4 and a thread has one.
struct DepthwiseShare {
  double rows;
  double any;
  double rows_single;
  double any_single;
};
constexpr std::array<DepthwiseShare, 3> kDepthwise = {
    {{0.45, 0.11, 0.4, 0.4}, {0.45, 0.07, 0.4, 0.4}, {0.17, 0.105, 0.4, 0.2}}};
/// Operations until a thread knows which windows reach its element of an input.
constexpr double kReached = 40;
constexpr double kReachedSingle = 125;
constexpr double kTraffic = 0.8;
/// Of the memory's rate that copies of windows reach, for each byte of an element, where channels
/// are no whole 16 bytes: an element at a time.
constexpr double kSingleElements = 0.133;
/// Of the memory's rate that cuDNN's own copies of pictures reach.
constexpr double kCopies = 0.4;

// Fitted to random shapes in bf16 there.
constexpr std::int64_t kLeastChannels = 32;  ///< what fewer are computed as
constexpr double kOdd = 0.6;                 ///< of the rate, where channels are padded
constexpr double kOddWindows = 1.2;          ///< times as long, with their copies
constexpr double kOddGroups = 2;             ///< the same, where those of groups are padded
constexpr double kStridedByInput = 0.7;      ///< of the rate, by an input that strides leave out
constexpr double kDilated = 0.5;             ///< of the rate, where windows have gaps
/// Of the rate, with windows of a pixel and channels that are not padded.
constexpr double kOddPixels = 0.16;
constexpr double kBegin = 1e-6;    ///< beside a launch
constexpr double kCopy = 2e-6;     ///< of a picture, however small
constexpr double kReorder = 4e-6;  ///< of a weight, however small
/// Up to so many blocks of results for each multiprocessor, the longest counts.
constexpr std::int64_t kFewBlocks = 4;

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

/// Of copies of pictures with other channels or in another order, written and read.
double copies_seconds(const ops::ConvWork& work, const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  const bool both = !ops::takes_picture(s.nhwc, s.in_channels / s.groups, work.dtype, work.tf32) &&
                    !ops::takes_picture(s.nhwc, s.out_channels / s.groups, work.dtype, work.tf32);
  const auto bytes = static_cast<double>(ops::conv_copies(s, work.dtype, work.tf32));
  return (both || s.groups > 1 ? 2 : 1) * kCopy + 2 * bytes / (kCopies * device.bytes_per_second);
}

/// The convolution as a product for each group, of channels as they are computed.
ProductCall as_product(const ops::ConvWork& work, double share) {
  const ops::ConvShape& s = work.shape;
  const std::int64_t in = std::max(kLeastChannels, s.in_channels / s.groups);
  const std::int64_t out = std::max(kLeastChannels, s.out_channels / s.groups);
  const std::int64_t window = s.kernel_height * s.kernel_width;
  ProductCall call{.batches = s.groups, .dtype = work.dtype, .tf32 = work.tf32, .share = share};
  switch (work.pass) {
    case ConvPass::forward:
      call.m = s.n * s.out_height * s.out_width;
      call.n = out;
      call.k = window * in;
      break;
    case ConvPass::by_input:
      call.m = s.n * s.in_height * s.in_width;
      call.n = in;
      call.k = window * out;
      break;
    default:
      call.m = out;
      call.n = window * in;
      call.k = s.n * s.out_height * s.out_width;
      break;
  }
  return call;
}

/// By cuDNN.
double library_seconds(const ops::ConvWork& work, const ops::ConvRoute& route, double moved,
                       const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  const bool full = work.dtype == DType::f32 && !work.tf32;
  const Shares& shares = full ? kF32 : work.dtype == DType::f32 ? kTf32 : k16;
  const Share& of_pass = shares[static_cast<std::size_t>(work.pass)];
  const std::int64_t in = s.in_channels / s.groups;
  const std::int64_t out = s.out_channels / s.groups;
  const bool odd = !full && ops::conv_copies(s, work.dtype, work.tf32) != 0;
  const bool strided = work.pass == ConvPass::by_input && s.stride_down * s.stride_across > 1;
  const bool window = s.kernel_height * s.kernel_width > 1;
  const bool as_they_are = odd && !window && s.groups == 1;
  double share = columns(work) <= 64 ? of_pass.narrow : of_pass.wide;
  if (odd) share *= as_they_are ? kOddPixels : kOdd;
  if (strided && !full) share *= kStridedByInput;
  if (window && s.dilation_down * s.dilation_across > 1) share *= kDilated;
  const double more = static_cast<double>(std::max(kLeastChannels, in)) / static_cast<double>(in) *
                      static_cast<double>(std::max(kLeastChannels, out)) / static_cast<double>(out);
  double seconds =
      std::max(s.flops() * more / (share * device.flops(work.dtype, work.tf32)), moved);
  const ProductCall call = as_product(work, share);
  const std::int64_t blocks = (call.m + 127) / 128 * ((call.n + 63) / 64) * call.batches;
  if (blocks <= kFewBlocks * device.processors) {
    seconds = std::max(seconds, call_seconds(call, device));
  }
  if (route.weight != 0) {
    seconds += kReorder + 2 * static_cast<double>(route.weight) / device.bytes_per_second;
  }
  seconds += kBegin;
  if (!odd || as_they_are) return seconds;
  seconds += copies_seconds(work, device);
  return seconds * (s.groups > 1 ? kOddGroups : kOddWindows);
}

/// By our own kernels.
double depthwise_seconds(const ops::ConvWork& work, double bytes, const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  const auto pass = static_cast<std::size_t>(work.pass);
  const double memory = bytes / device.bytes_per_second;
  const double arithmetic = s.flops() / device.flops_f32;
  const bool by_weight = work.pass == ConvPass::by_weight;
  const bool rows = by_weight ? ops::has_depthwise_weight_rows(s) : ops::has_depthwise_rows(s);
  const DepthwiseShare& share = kDepthwise[pass];
  const bool single = s.groups % 4 != 0;
  double reached = rows ? share.rows : share.any;
  if (single) reached *= rows ? share.rows_single : share.any_single;
  double seconds = memory + arithmetic / reached;
  if (work.pass == ConvPass::by_input && !rows) {
    const double operations = single ? kReachedSingle : kReached;
    seconds += static_cast<double>(s.in_shape().elements()) * operations / device.flops_f32;
  }
  // The weight is laid out first, or its parts are added at last.
  return seconds + 2 * device.launch_seconds;
}

/// By products over windows that are copied out.
double by_products_seconds(const ops::ConvWork& work, const ops::ConvRoute& route,
                           const DeviceDescription& device) {
  const double parts = static_cast<double>(route.parts);
  ops::Products products;
  products.shape =
      ops::conv_product(work.shape, work.pass, work.dtype, work.tf32,
                        ops::conv_pictures(work.shape, route.parts, route.parts - 1), false);
  double seconds = parts * products_seconds(products, device);
  const double rate = kTraffic * device.bytes_per_second;
  if (route.columns != 0) {
    const auto size = static_cast<double>(dtype_size(work.dtype));
    const bool single = !ops::takes_picture(true, work.shape.in_channels, work.dtype, true);
    const double copying = single ? kSingleElements * size * device.bytes_per_second : rate;
    seconds += parts * (static_cast<double>(route.columns) / copying + device.launch_seconds) +
               bytes_of(work.shape.in_shape(), work.dtype) / rate;
  }
  if (route.weight != 0) {
    seconds += 2 * static_cast<double>(route.weight) / rate + device.launch_seconds;
  }
  if (route.sums != 0) seconds += parts * device.launch_seconds;
  return seconds;
}

}  // namespace

double convolution_seconds(const ops::ConvWork& work, const DeviceDescription& device) {
  const ops::ConvShape& s = work.shape;
  const ops::ConvRoute route = ops::conv_route(s, work.pass, work.dtype, work.tf32);
  const double bytes = bytes_of(s.in_shape(), work.dtype) + bytes_of(s.out_shape(), work.dtype) +
                       bytes_of(s.weight_shape(), work.dtype);
  const double moved = bytes / (kTraffic * device.bytes_per_second) + device.launch_seconds;
  if (route.kernel == ops::ConvKernel::depthwise) return depthwise_seconds(work, bytes, device);
  if (route.kernel == ops::ConvKernel::products) return by_products_seconds(work, route, device);
  return library_seconds(work, route, moved, device);
}

}  // namespace plimsoll::plan
