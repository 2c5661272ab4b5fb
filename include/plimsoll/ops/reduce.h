#pragma once

#include <utility>
#include <vector>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// Over which dimensions to reduce: none given means all. Negative ones count from the end.
struct ReduceOptions {
  std::vector<std::int64_t> axes = {};
  bool keep_dims = false;
};

/// Sums accumulate in f32 (f64 for f64, i64 for integers) in an order fixed by the shape, so that
/// the result does not depend on the number of threads. Of nothing it is 0; of bools, how many hold
/// (i64).
Tensor sum(const Tensor& x, const ReduceOptions& options = {});
/// Of nothing it is NaN; of bools, the share that holds (f32).
Tensor mean(const Tensor& x, const ReduceOptions& options = {});
/// Equal ones share the gradient. Of nothing: InvalidArgument. Of bools: bool.
Tensor max(const Tensor& x, const ReduceOptions& options = {});
Tensor min(const Tensor& x, const ReduceOptions& options = {});
Tensor prod(const Tensor& x, const ReduceOptions& options = {});
/// The mean of the squared distance from the mean.
Tensor variance(const Tensor& x, const ReduceOptions& options = {});
/// bool.
Tensor all(const Tensor& x, const ReduceOptions& options = {});
Tensor any(const Tensor& x, const ReduceOptions& options = {});

/// i64 index of the largest along `axis`; the first of equal ones, NaN before all.
Tensor argmax(const Tensor& x, int axis = -1);
/// The `k` largest along the last dimension, in falling order, and their i64 indices; of equal ones
/// the lower index first. Values are differentiable.
std::pair<Tensor, Tensor> top_k(const Tensor& x, std::int64_t k);

/// Sums over the dimensions along which `shape` was broadcast to x's, so that the result has
/// `shape`: the gradient of broadcasting. `x` itself if it has that shape.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace plimsoll::ops
