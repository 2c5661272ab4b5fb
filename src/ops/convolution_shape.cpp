#include <plimsoll/ops/convolution_shape.h>

#include <fmt/format.h>

#include <plimsoll/base/text.h>

namespace plimsoll::ops {
namespace {

void read_window(const OpInputs& inputs, ConvShape& s) {
  const Attributes& attributes = inputs.attributes();
  const auto& stride = attributes.integers("stride");
  const auto& padding = attributes.integers("padding");
  s.stride_down = stride.at(0);
  s.stride_across = stride.at(1);
  s.padding = {padding.at(0), padding.at(1), padding.at(2), padding.at(3)};
  if (s.stride_down < 1 || s.stride_across < 1) inputs.fail("strides must be at least 1");
  for (const std::int64_t pixels : padding) {
    if (pixels < 0) inputs.fail("padding cannot be negative; slice the image instead");
  }
}

void read_picture(const OpInputs& inputs, const Shape& x, ConvShape& s) {
  if (x.rank() != 4) inputs.fail("a batch of images must have 4 dimensions");
  s.nhwc = inputs.attributes().flag("nhwc");
  const PictureAxes axes = axes_of(s.nhwc);
  s.n = x[0];
  s.in_channels = x[axes.channels];
  s.in_height = x[axes.height];
  s.in_width = x[axes.width];
}

/// Places of a window of `size` with `dilation` on `extent` pixels.
std::int64_t places(const OpInputs& inputs, std::int64_t extent, std::int64_t before,
                    std::int64_t after, std::int64_t size, std::int64_t dilation,
                    std::int64_t stride, const char* what) {
  const std::int64_t window = (size - 1) * dilation + 1;
  const std::int64_t padded = extent + before + after;
  if (window > padded) {
    inputs.fail(
        fmt::format("the window has a {} of {}, the padded image only {}", what, window, padded));
  }
  return (padded - window) / stride + 1;
}

void find_places(const OpInputs& inputs, ConvShape& s) {
  s.out_height = places(inputs, s.in_height, s.padding.top, s.padding.bottom, s.kernel_height,
                        s.dilation_down, s.stride_down, "height");
  s.out_width = places(inputs, s.in_width, s.padding.left, s.padding.right, s.kernel_width,
                       s.dilation_across, s.stride_across, "width");
}

std::vector<std::int64_t> integers_of(const Padding& p) {
  return {p.top, p.bottom, p.left, p.right};
}
std::vector<std::int64_t> integers_of(const std::array<std::int64_t, 2>& pair) {
  return {pair[0], pair[1]};
}

}  // namespace

double ConvShape::flops() const {
  const std::int64_t depth = in_channels / groups * kernel_height * kernel_width;
  return 2.0 * static_cast<double>(out_shape().elements()) * static_cast<double>(depth);
}

ConvShape conv_shape(const OpInputs& inputs, const Shape& x, const Shape& weight) {
  ConvShape s;
  read_picture(inputs, x, s);
  if (weight.rank() != 4) inputs.fail("the weight must be [out,in/groups,height,width]");
  s.out_channels = weight[0];
  s.kernel_height = weight[2];
  s.kernel_width = weight[3];
  if (s.kernel_height < 1 || s.kernel_width < 1) inputs.fail("the weight has no pixels");
  s.groups = inputs.attributes().integer("groups");
  if (s.groups < 1 || s.in_channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    inputs.fail(fmt::format("{} groups do not divide {} and {} channels", s.groups, s.in_channels,
                            s.out_channels));
  }
  if (weight[1] != s.in_channels / s.groups) {
    inputs.fail(
        s.groups == 1
            ? fmt::format("the images have {}, and the weight takes {}",
                          counted(s.in_channels, "channel"), weight[1])
            : fmt::format("the images have {} in {} groups, and the weight takes {} for each",
                          counted(s.in_channels, "channel"), s.groups, weight[1]));
  }
  read_window(inputs, s);
  const auto& dilation = inputs.attributes().integers("dilation");
  s.dilation_down = dilation.at(0);
  s.dilation_across = dilation.at(1);
  if (s.dilation_down < 1 || s.dilation_across < 1) inputs.fail("dilation must be at least 1");
  find_places(inputs, s);
  return s;
}

ConvShape pool_shape(const OpInputs& inputs, const Shape& x) {
  ConvShape s;
  read_picture(inputs, x, s);
  s.out_channels = s.in_channels;
  const auto& size = inputs.attributes().integers("size");
  s.kernel_height = size.at(0);
  s.kernel_width = size.at(1);
  if (s.kernel_height < 1 || s.kernel_width < 1) inputs.fail("a window must have a pixel");
  read_window(inputs, s);
  const Padding& p = s.padding;
  if (p.top >= s.kernel_height || p.bottom >= s.kernel_height || p.left >= s.kernel_width ||
      p.right >= s.kernel_width) {
    inputs.fail("padding must be smaller than the window, or a window would have no pixel");
  }
  find_places(inputs, s);
  return s;
}

Attributes conv_attributes(const ConvOptions& options) {
  return {{"stride", integers_of(options.stride)},
          {"padding", integers_of(options.padding)},
          {"dilation", integers_of(options.dilation)},
          {"groups", options.groups},
          {"nhwc", options.layout == Layout::channels_last}};
}

Attributes pool_attributes(const PoolOptions& options) {
  return {{"size", integers_of(options.size)},
          {"stride", integers_of(options.stride)},
          {"padding", integers_of(options.padding)},
          {"nhwc", options.layout == Layout::channels_last}};
}

}  // namespace plimsoll::ops
