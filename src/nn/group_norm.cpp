#include <plimsoll/nn/group_norm.h>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/normalize.h>
#include <plimsoll/ops/random.h>
#include <plimsoll/ops/shape_ops.h>

namespace plimsoll::nn {
namespace {

void check_groups_of(std::int64_t groups, std::int64_t channels) {
  if (groups < 1 || channels % groups != 0) {
    throw InvalidArgument(
        fmt::format("[GroupNorm] {} groups do not divide {} channels", groups, channels));
  }
}

void check_input(const char* who, const Tensor& x, int rank, std::int64_t channels) {
  if (x.rank() < rank) {
    throw InvalidArgument(
        fmt::format("[{}] the input is {}; it takes [n, channels, ...] with {} "
                    "dimensions or more",
                    who, x.type().to_string(), rank));
  }
  if (channels != 0 && x.dim(1) != channels) {
    throw InvalidArgument(
        fmt::format("[{}] the input {} has {} channels (dimension 1), and the "
                    "layer {}; make it with channels = {}",
                    who, x.type().to_string(), x.dim(1), channels, x.dim(1)));
  }
}

/// `values`, or `other` for each channel where they are not defined, as the op takes them.
Tensor per_channel(const Tensor& values, const Tensor& x, double other) {
  const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (!values.defined()) return ops::full_like_type(x, {wide, {x.dim(1)}}, other);
  return values.dtype() == x.dtype() ? values : ops::cast(values, wide);
}

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  check_input("group_norm", x, 2, 0);
  check_groups_of(groups, x.dim(1));
  // Whatever lies behind the channels are pixels.
  Shape pictures = x.shape();
  if (x.rank() != 4) {
    const std::int64_t all = x.dim(0) * x.dim(1);
    pictures = {x.dim(0), x.dim(1), all == 0 ? 1 : x.elements() / all, 1};
  }
  const Tensor y =
      ops::group_norm(x.rank() == 4 ? x : ops::reshape(x, pictures), per_channel(weight, x, 1),
                      per_channel(bias, x, 0), groups, epsilon);
  return x.rank() == 4 ? y : ops::reshape(y, x.shape());
}

GroupNorm::GroupNorm(std::int64_t groups, const GroupNormOptions& options)
    : groups_(groups), options_(options) {
  if (options.channels != 0) {
    declare(options.channels);
  } else if (options.affine) {
    declare_later();
  }
}

void GroupNorm::declare(std::int64_t channels) const {
  check_groups_of(groups_, channels);
  if (!options_.affine) return;
  parameter("weight", {channels}, Init::ones());
  parameter("bias", {channels}, Init::zeros());
}

Tensor GroupNorm::forward(const Tensor& x) const {
  check_input("GroupNorm", x, 2, options_.channels);
  if (!options_.affine) return group_norm(x, groups_, {}, {}, options_.epsilon);
  if (own("weight") == nullptr) declare(x.dim(1));
  return group_norm(x, groups_, *own("weight"), *own("bias"), options_.epsilon);
}

InstanceNorm::InstanceNorm(const InstanceNormOptions& options) : options_(options) {
  if (options.channels != 0) {
    declare(options.channels);
  } else if (options.affine) {
    declare_later();
  }
}

void InstanceNorm::declare(std::int64_t channels) const {
  if (!options_.affine) return;
  parameter("weight", {channels}, Init::ones());
  parameter("bias", {channels}, Init::zeros());
}

Tensor InstanceNorm::forward(const Tensor& x) const {
  check_input("InstanceNorm", x, 3, options_.channels);
  if (!options_.affine) return group_norm(x, x.dim(1), {}, {}, options_.epsilon);
  if (own("weight") == nullptr) declare(x.dim(1));
  return group_norm(x, x.dim(1), *own("weight"), *own("bias"), options_.epsilon);
}

}  // namespace plimsoll::nn
