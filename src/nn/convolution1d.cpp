#include <plimsoll/nn/convolution1d.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/convolution.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

void check_signal(const char* who, const Tensor& x) {
  if (x.rank() != 3) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes sequences, [n, channels, "
                    "length]",
                    who, x.type().to_string()));
  }
}

void check_groups(const char* who, std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    throw InvalidArgument(fmt::format("[{}] {} groups do not divide {} channels in and {} out", who,
                                      groups, in, out));
  }
}

/// Sequences as pictures of one row, windows as windows of one row.
Tensor one_row(const Tensor& x) { return ops::reshape(x, x.shape().with_inserted(2, 1)); }
Tensor without_row(const Tensor& x) { return ops::reshape(x, x.shape().with_removed(2)); }

ops::Padding padding_of(const Tensor& x, std::int64_t size, const Conv1DOptions& o) {
  if (o.padding.same) {
    return sides(kSame, 1, x.dim(2), {1, size}, {1, o.stride}, {1, o.dilation});
  }
  const std::int64_t before = o.padding.causal ? (size - 1) * o.dilation : o.padding.before;
  return {0, 0, before, o.padding.after};
}

}  // namespace

Conv1D::Conv1D(std::int64_t out, std::int64_t size, const Conv1DOptions& options)
    : out_(out), size_(size), options_(options) {
  options.in != 0 ? declare(options.in) : declare_later();
}

void Conv1D::declare(std::int64_t in) const {
  check_groups("Conv1D", in, out_, options_.groups);
  const std::int64_t each = in / options_.groups;
  const Init fan_in = Init::fan_in_uniform(each * size_);
  parameter("weight", {out_, each, size_}, options_.init.value_or(fan_in));
  if (options_.bias) parameter("bias", {out_}, options_.init ? Init::zeros() : fan_in);
}

Tensor Conv1D::forward(const Tensor& x) const {
  check_signal("Conv1D", x);
  if (own("weight") == nullptr) declare(x.dim(1));
  const Parameter* bias = own("bias");
  return without_row(ops::conv2d(one_row(x), one_row(*own("weight")),
                                 bias != nullptr ? bias->value() : Tensor(),
                                 {.stride = {1, options_.stride},
                                  .padding = padding_of(x, size_, options_),
                                  .dilation = {1, options_.dilation},
                                  .groups = options_.groups}));
}

DepthwiseConv1D::DepthwiseConv1D(std::int64_t size, const DepthwiseConv1DOptions& options)
    : size_(size), options_(options) {
  if (options.multiplier < 1) {
    throw InvalidArgument(fmt::format("[DepthwiseConv1D] a multiplier of {}; it must be at least 1",
                                      options.multiplier));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void DepthwiseConv1D::declare(std::int64_t in) const {
  const Init fan_in = Init::fan_in_uniform(size_);
  parameter("weight", {in * options_.multiplier, 1, size_}, fan_in);
  if (options_.bias) parameter("bias", {in * options_.multiplier}, fan_in);
}

Tensor DepthwiseConv1D::forward(const Tensor& x) const {
  check_signal("DepthwiseConv1D", x);
  if (own("weight") == nullptr) declare(x.dim(1));
  const Parameter* bias = own("bias");
  const Conv1DOptions window = {
      .stride = options_.stride, .padding = options_.padding, .dilation = options_.dilation};
  return without_row(ops::conv2d(one_row(x), one_row(*own("weight")),
                                 bias != nullptr ? bias->value() : Tensor(),
                                 {.stride = {1, options_.stride},
                                  .padding = padding_of(x, size_, window),
                                  .dilation = {1, options_.dilation},
                                  .groups = x.dim(1)}));
}

SeparableConv1D::SeparableConv1D(std::int64_t out, std::int64_t size,
                                 const DepthwiseConv1DOptions& options)
    : depthwise_(add("depthwise", DepthwiseConv1D(size,
                                                  [&] {
                                                    DepthwiseConv1DOptions without = options;
                                                    without.bias = false;
                                                    return without;
                                                  }()))),
      pointwise_(
          add("pointwise",
              Conv1D(out, 1, {.in = options.in * options.multiplier, .bias = options.bias}))) {}

ConvTranspose1D::ConvTranspose1D(std::int64_t out, std::int64_t size,
                                 const ConvTranspose1DOptions& options)
    : out_(out), size_(size), options_(options) {
  if (options_.stride == 0) options_.stride = size;
  if (options_.output_padding >= options_.stride) {
    throw InvalidArgument(fmt::format(
        "[ConvTranspose1D] an output_padding of {} is not less than the stride {}; make it smaller",
        options_.output_padding, options_.stride));
  }
  options.in != 0 ? declare(options.in) : declare_later();
}

void ConvTranspose1D::declare(std::int64_t in) const {
  check_groups("ConvTranspose1D", in, out_, options_.groups);
  const std::int64_t each = out_ / options_.groups;
  const Init init = Init::fan_in_uniform(each * size_);
  parameter("weight", {in, each, size_}, init);
  if (options_.bias) parameter("bias", {out_}, init);
}

Tensor ConvTranspose1D::forward(const Tensor& x) const {
  check_signal("ConvTranspose1D", x);
  if (own("weight") == nullptr) declare(x.dim(1));
  const std::int64_t length = (x.dim(2) - 1) * options_.stride - 2 * options_.padding +
                              options_.dilation * (size_ - 1) + options_.output_padding + 1;
  if (length < 1) {
    throw InvalidArgument(
        fmt::format("[ConvTranspose1D] of {} a padding of {} leaves {} elements; use a smaller one",
                    x.type().to_string(), options_.padding, length));
  }
  const Tensor y = without_row(
      ops::conv2d_transpose(one_row(x), one_row(*own("weight")), {x.dim(0), out_, 1, length},
                            {.stride = {1, options_.stride},
                             .padding = {0, 0, options_.padding, options_.padding},
                             .dilation = {1, options_.dilation},
                             .groups = options_.groups}));
  const Parameter* bias = own("bias");
  if (bias == nullptr) return y;
  return ops::add(y, ops::cast(ops::reshape(*bias, Shape{1, out_, 1}), y.dtype()));
}

}  // namespace plimsoll::nn
