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

ops::PoolOptions pool(std::int64_t size, const Pool2DOptions& options) {
  const std::int64_t stride = options.stride == 0 ? size : options.stride;
  return {.size = {size, size},
          .stride = {stride, stride},
          .padding = ops::Padding::all(options.padding),
          .layout = options.layout};
}

}  // namespace

Conv2D::Conv2D(std::int64_t in, std::int64_t out, std::int64_t size, const Conv2DOptions& options)
    : options_{.stride = {options.stride, options.stride},
               .padding = ops::Padding::all(options.padding),
               .dilation = {options.dilation, options.dilation},
               .groups = options.groups,
               .layout = options.layout},
      weight_(parameter(
          "weight", {out, per_group(in, out, options.groups), size, size},
          options.init.value_or(Init::fan_in_uniform(in / options.groups * size * size)))),
      bias_(options.bias
                ? &parameter("bias", {out},
                             options.init ? Init::zeros()
                                          : Init::fan_in_uniform(in / options.groups * size * size))
                : nullptr) {}

Tensor Conv2D::bias() const { return bias_ != nullptr ? bias_->tensor() : Tensor(); }

Tensor Conv2D::forward(const Tensor& x) const {
  return ops::conv2d(x, weight_, bias_ != nullptr ? bias_->tensor() : Tensor(), options_);
}

ConvTranspose2D::ConvTranspose2D(std::int64_t in, std::int64_t out, std::int64_t stride)
    : stride_(stride),
      weight_(parameter("weight", {in, out, stride, stride},
                        Init::fan_in_uniform(out * stride * stride))),
      bias_(parameter("bias", {out}, Init::fan_in_uniform(out * stride * stride))) {}

Tensor ConvTranspose2D::forward(const Tensor& x) const {
  const std::int64_t out = weight_.type().shape[1];
  const Tensor y =
      ops::conv2d_transpose(x, weight_, {x.dim(0), out, x.dim(2) * stride_, x.dim(3) * stride_},
                            {.stride = {stride_, stride_}});
  return ops::add(y, ops::cast(ops::reshape(bias_, Shape{1, out, 1, 1}), y.dtype()));
}

MaxPool2D::MaxPool2D(std::int64_t size, const Pool2DOptions& options)
    : options_(pool(size, options)) {}
AvgPool2D::AvgPool2D(std::int64_t size, const Pool2DOptions& options)
    : options_(pool(size, options)) {}

}  // namespace plimsoll::nn
