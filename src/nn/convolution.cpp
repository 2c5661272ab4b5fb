#include <plimsoll/nn/convolution.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

std::int64_t per_group(std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    throw InvalidArgument(
        fmt::format("[Conv2D] {} groups do not divide {} channels in and {} out", groups, in, out));
  }
  return in / groups;
}

std::int64_t channels(const Tensor& x, ops::Layout layout, const char* who) {
  if (x.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes pictures, {}", who, x.type().to_string(),
                    layout == ops::Layout::nhwc ? "[n, height, width, channels]"
                                                : "[n, channels, height, width]"));
  }
  return x.dim(layout == ops::Layout::nhwc ? 3 : 1);
}

ops::PoolOptions pool(std::int64_t size, const Pool2DOptions& options) {
  const std::int64_t stride = options.stride == 0 ? size : options.stride;
  return {.size = {size, size},
          .stride = {stride, stride},
          .padding = ops::Padding::all(options.padding),
          .layout = options.layout};
}

}  // namespace

Conv2D::Conv2D(std::int64_t out, std::int64_t size, const Conv2DOptions& options)
    : out_(out), size_(size), options_(options) {
  if (options.in != 0) declare(options.in);
}

void Conv2D::declare(std::int64_t in) const {
  const std::int64_t each = per_group(in, out_, options_.groups);
  const Init fan_in = Init::fan_in_uniform(each * size_ * size_);
  parameter("weight", {out_, each, size_, size_}, options_.init.value_or(fan_in));
  if (options_.bias) parameter("bias", {out_}, options_.init ? Init::zeros() : fan_in);
}

const Parameter& Conv2D::weight() const {
  const Parameter* weight = own("weight");
  if (weight == nullptr) {
    throw InvalidArgument(
        fmt::format("[Conv2D] {} has no weight yet: it is not known what comes in; call it, "
                    "build() it, or say {{.in = N}}",
                    name().empty() ? "it" : name()));
  }
  return *weight;
}

Tensor Conv2D::bias() const {
  const Parameter* bias = own("bias");
  return bias != nullptr ? bias->value() : Tensor();
}

Tensor Conv2D::forward(const Tensor& x) const {
  if (own("weight") == nullptr) declare(channels(x, options_.layout, "Conv2D"));
  return ops::conv2d(x, weight(), bias(),
                     {.stride = {options_.stride, options_.stride},
                      .padding = ops::Padding::all(options_.padding),
                      .dilation = {options_.dilation, options_.dilation},
                      .groups = options_.groups,
                      .layout = options_.layout});
}

ConvTranspose2D::ConvTranspose2D(std::int64_t out, std::int64_t stride, std::int64_t in)
    : out_(out), stride_(stride) {
  if (in != 0) declare(in);
}

void ConvTranspose2D::declare(std::int64_t in) const {
  const Init init = Init::fan_in_uniform(out_ * stride_ * stride_);
  parameter("weight", {in, out_, stride_, stride_}, init);
  parameter("bias", {out_}, init);
}

Tensor ConvTranspose2D::forward(const Tensor& x) const {
  if (own("weight") == nullptr) declare(channels(x, ops::Layout::nchw, "ConvTranspose2D"));
  const Tensor y = ops::conv2d_transpose(x, *own("weight"),
                                         {x.dim(0), out_, x.dim(2) * stride_, x.dim(3) * stride_},
                                         {.stride = {stride_, stride_}});
  return ops::add(y, ops::cast(ops::reshape(*own("bias"), Shape{1, out_, 1, 1}), y.dtype()));
}

MaxPool2D::MaxPool2D(std::int64_t size, const Pool2DOptions& options)
    : options_(pool(size, options)) {}
AvgPool2D::AvgPool2D(std::int64_t size, const Pool2DOptions& options)
    : options_(pool(size, options)) {}

}  // namespace plimsoll::nn
