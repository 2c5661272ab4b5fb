#include <plimsoll/nn/window.h>

#include <algorithm>

namespace plimsoll::nn {
namespace {

/// Zeros in all that let size / stride (rounded up) windows fit.
std::int64_t total(std::int64_t size, std::int64_t window, std::int64_t stride,
                   std::int64_t dilation) {
  const std::int64_t windows = (size + stride - 1) / std::max<std::int64_t>(stride, 1);
  const std::int64_t reach = (window - 1) * dilation + 1;
  return std::max<std::int64_t>((windows - 1) * stride + reach - size, 0);
}

}  // namespace

ops::Padding sides(const WindowPadding& padding, std::int64_t height, std::int64_t width,
                   const Pair& size, const Pair& stride, const Pair& dilation) {
  if (!padding.same) return {padding.down, padding.down, padding.across, padding.across};
  const std::int64_t down = total(height, size.down, stride.down, dilation.down);
  const std::int64_t across = total(width, size.across, stride.across, dilation.across);
  return {down / 2, down - down / 2, across / 2, across - across / 2};
}

}  // namespace plimsoll::nn
