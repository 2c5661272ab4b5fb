#include <plimsoll/nn/convolution.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

std::int64_t per_group(const char* who, std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    throw InvalidArgument(fmt::format("[{}] {} groups do not divide {} channels in and {} out", who,
                                      groups, in, out));
  }
  return in / groups;
}

std::int64_t channels(const Tensor& x, Layout layout, const char* who) {
  if (x.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes images, {}", who, x.type().to_string(),
                    layout == Layout::channels_last ? "[n, height, width, channels]"
                                                    : "[n, channels, height, width]"));
  }
  return x.dim(layout == Layout::channels_last ? 3 : 1);
}

std::array<std::int64_t, 2> both(const Pair& pair) { return {pair.down, pair.across}; }

ops::ConvOptions options_for(const Tensor& x, const Pair& size, const Conv2DOptions& options) {
  const int at = options.layout == Layout::channels_last ? 1 : 2;
  return {.stride = both(options.stride),
          .padding = sides(options.padding, x.dim(at), x.dim(at + 1), size, options.stride,
                           options.dilation),
          .dilation = both(options.dilation),
          .groups = options.groups,
          .layout = options.layout};
}

/// A depthwise convolution as the general one.
Conv2DOptions grouped(const DepthwiseConv2DOptions& options, std::int64_t in) {
  return {.in = in,
          .stride = options.stride,
          .padding = options.padding,
          .dilation = options.dilation,
          .groups = in,
          .bias = options.bias,
          .layout = options.layout,
          .init = options.init};
}

DepthwiseConv2DOptions without_bias(DepthwiseConv2DOptions options) {
  options.bias = false;
  return options;
}

}  // namespace

Conv2D::Conv2D(std::int64_t out, Pair size, const Conv2DOptions& options)
    : out_(out), size_(size), options_(options) {
  options.in != 0 ? declare(options.in) : declare_later();
}

void Conv2D::declare(std::int64_t in) const {
  const std::int64_t each = per_group("Conv2D", in, out_, options_.groups);
  const Init fan_in = Init::fan_in_uniform(each * size_.down * size_.across);
  declare_weight({out_, each, size_.down, size_.across}, options_.init.value_or(fan_in),
                 options_.form);
  if (options_.bias) parameter("bias", {out_}, options_.init ? Init::zeros() : fan_in);
}

const Parameter& Conv2D::weight() const { return weight_parameter(options_.form, "Conv2D"); }

Tensor Conv2D::bias() const {
  const Parameter* bias = own("bias");
  return bias != nullptr ? bias->value() : Tensor();
}

Tensor Conv2D::forward(const Tensor& x) const {
  const std::int64_t in = channels(x, options_.layout, "Conv2D");
  if (!has_weight(options_.form)) declare(in);
  return ops::conv2d(x, weight_value(options_.form), bias(), options_for(x, size_, options_));
}

DepthwiseConv2D::DepthwiseConv2D(Pair size, const DepthwiseConv2DOptions& options)
    : size_(size), options_(options) {
  options.in != 0 ? declare(options.in) : declare_later();
}

void DepthwiseConv2D::declare(std::int64_t in) const {
  const Init fan_in = Init::fan_in_uniform(size_.down * size_.across);
  const std::int64_t out = in * options_.multiplier;
  if (options_.multiplier < 1) {
    throw InvalidArgument(fmt::format("[DepthwiseConv2D] a multiplier of {}; it must be at least 1",
                                      options_.multiplier));
  }
  parameter("weight", {out, 1, size_.down, size_.across}, options_.init.value_or(fan_in));
  if (options_.bias) parameter("bias", {out}, options_.init ? Init::zeros() : fan_in);
}

Tensor DepthwiseConv2D::forward(const Tensor& x) const {
  const std::int64_t in = channels(x, options_.layout, "DepthwiseConv2D");
  if (own("weight") == nullptr) declare(in);
  const Parameter* bias = own("bias");
  return ops::conv2d(x, *own("weight"), bias != nullptr ? bias->value() : Tensor(),
                     options_for(x, size_, grouped(options_, in)));
}

SeparableConv2D::SeparableConv2D(std::int64_t out, Pair size, const DepthwiseConv2DOptions& options)
    : depthwise_(add("depthwise", DepthwiseConv2D(size, without_bias(options)))),
      pointwise_(add("pointwise", Conv2D(out, 1,
                                         {.in = options.in * options.multiplier,
                                          .bias = options.bias,
                                          .layout = options.layout,
                                          .init = options.init}))) {}

ConvTranspose2D::ConvTranspose2D(std::int64_t out, Pair size, const ConvTranspose2DOptions& options)
    : out_(out), size_(size), options_(options) {
  if (options_.stride.down == 0) options_.stride.down = size.down;
  if (options_.stride.across == 0) options_.stride.across = size.across;
  if (options_.output_padding.down >= options_.stride.down ||
      options_.output_padding.across >= options_.stride.across) {
    throw InvalidArgument(
        fmt::format("[ConvTranspose2D] an output_padding of {}, {} is not less than the stride {}, "
                    "{}; make it smaller",
                    options_.output_padding.down, options_.output_padding.across,
                    options_.stride.down, options_.stride.across));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void ConvTranspose2D::declare(std::int64_t in) const {
  per_group("ConvTranspose2D", in, out_, options_.groups);
  const std::int64_t each = out_ / options_.groups;
  const Init init = Init::fan_in_uniform(each * size_.down * size_.across);
  parameter("weight", {in, each, size_.down, size_.across}, init);
  if (options_.bias) parameter("bias", {out_}, init);
}

Tensor ConvTranspose2D::forward(const Tensor& x) const {
  const std::int64_t in = channels(x, Layout::channels_first, "ConvTranspose2D");
  if (own("weight") == nullptr) declare(in);
  const auto grown = [](std::int64_t from, std::int64_t window, std::int64_t stride,
                        std::int64_t padding, std::int64_t dilation, std::int64_t more) {
    return (from - 1) * stride - 2 * padding + dilation * (window - 1) + more + 1;
  };
  const ConvTranspose2DOptions& o = options_;
  const std::int64_t height = grown(x.dim(2), size_.down, o.stride.down, o.padding.down,
                                    o.dilation.down, o.output_padding.down);
  const std::int64_t width = grown(x.dim(3), size_.across, o.stride.across, o.padding.across,
                                   o.dilation.across, o.output_padding.across);
  if (height < 1 || width < 1) {
    throw InvalidArgument(
        fmt::format("[ConvTranspose2D] of {} a padding of {}, {} leaves {} x {} "
                    "pixels; use a smaller one",
                    x.type().to_string(), o.padding.down, o.padding.across, height, width));
  }
  const Tensor y = ops::conv2d_transpose(
      x, *own("weight"), {x.dim(0), out_, height, width},
      {.stride = both(o.stride),
       .padding = {o.padding.down, o.padding.down, o.padding.across, o.padding.across},
       .dilation = both(o.dilation),
       .groups = o.groups});
  const Parameter* bias = own("bias");
  if (bias == nullptr) return y;
  return ops::add(y, ops::cast(ops::reshape(*bias, Shape{1, out_, 1, 1}), y.dtype()));
}

}  // namespace plimsoll::nn
