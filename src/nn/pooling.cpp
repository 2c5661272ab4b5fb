#include <plimsoll/nn/pooling.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

Pool2DOptions with_stride(Pool2DOptions options, const Pair& size) {
  if (options.stride.down == 0) options.stride.down = size.down;
  if (options.stride.across == 0) options.stride.across = size.across;
  return options;
}

Pool1DOptions with_stride(Pool1DOptions options, std::int64_t size) {
  if (options.stride == 0) options.stride = size;
  return options;
}

ops::PoolOptions pool_options(const char* who, const Tensor& x, const Pair& size,
                              const Pool2DOptions& options) {
  if (x.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes images, {}", who, x.type().to_string(),
                    options.layout == Layout::channels_last ? "[n, height, width, channels]"
                                                            : "[n, channels, height, width]"));
  }
  const int at = options.layout == Layout::channels_last ? 1 : 2;
  return {.size = {size.down, size.across},
          .stride = {options.stride.down, options.stride.across},
          .padding = sides(options.padding, x.dim(at), x.dim(at + 1), size, options.stride),
          .layout = options.layout};
}

void check_sequence(const char* who, const Tensor& x) {
  if (x.rank() != 3) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes sequences, [n, channels, "
                    "length]",
                    who, x.type().to_string()));
  }
}

/// Runs `pool` on sequences as pictures of one row.
template <typename Pool>
Tensor on_one_row(const char* who, const Tensor& x, std::int64_t size, const Pool1DOptions& options,
                  Pool pool) {
  check_sequence(who, x);
  const Tensor y = pool(ops::reshape(x, x.shape().with_inserted(2, 1)),
                        ops::PoolOptions{.size = {1, size},
                                         .stride = {1, options.stride},
                                         .padding = {0, 0, options.padding, options.padding}});
  return ops::reshape(y, y.shape().with_removed(2));
}

}  // namespace

MaxPool2D::MaxPool2D(Pair size, const Pool2DOptions& options)
    : size_(size), options_(with_stride(options, size)) {}
Tensor MaxPool2D::forward(const Tensor& x) const {
  return ops::max_pool2d(x, pool_options("MaxPool2D", x, size_, options_));
}

AvgPool2D::AvgPool2D(Pair size, const Pool2DOptions& options)
    : size_(size), options_(with_stride(options, size)) {}
Tensor AvgPool2D::forward(const Tensor& x) const {
  return ops::avg_pool2d(x, pool_options("AvgPool2D", x, size_, options_));
}

Tensor GlobalMaxPool2D::forward(const Tensor& x) const {
  if (x.rank() != 4) {
    throw InvalidArgument(
        fmt::format("[GlobalMaxPool2D] the input is {}; it takes images", x.type().to_string()));
  }
  if (layout_ == Layout::channels_last) return ops::max(x, {.axes = {1, 2}});
  return ops::max(x, {.axes = {2, 3}});
}

MaxPool1D::MaxPool1D(std::int64_t size, const Pool1DOptions& options)
    : size_(size), options_(with_stride(options, size)) {}
Tensor MaxPool1D::forward(const Tensor& x) const {
  return on_one_row("MaxPool1D", x, size_, options_, ops::max_pool2d);
}

AvgPool1D::AvgPool1D(std::int64_t size, const Pool1DOptions& options)
    : size_(size), options_(with_stride(options, size)) {}
Tensor AvgPool1D::forward(const Tensor& x) const {
  return on_one_row("AvgPool1D", x, size_, options_, ops::avg_pool2d);
}

Tensor GlobalAvgPool1D::forward(const Tensor& x) const {
  check_sequence("GlobalAvgPool1D", x);
  return ops::mean(x, {.axes = {2}});
}
Tensor GlobalMaxPool1D::forward(const Tensor& x) const {
  check_sequence("GlobalMaxPool1D", x);
  return ops::max(x, {.axes = {2}});
}

}  // namespace plimsoll::nn
