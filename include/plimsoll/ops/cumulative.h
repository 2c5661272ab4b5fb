#pragma once

#include <utility>

#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// How elements of a dimension are gathered up: from its first to its last, or the other way
/// (`reverse`); without the element itself (`exclusive`).
struct CumulativeOptions {
  bool reverse = false;
  bool exclusive = false;
};

/// The sum of all elements up to and including each one along `axis`. Sums are in f64 on the CPU,
/// in f32 on a GPU (f64 for f64), and rounded once for each element; integers wrap around. Of
/// bools: i64.
Tensor cumsum(const Tensor& x, int axis = -1, const CumulativeOptions& options = {});
/// The same for products. Its gradient is right where elements are zero.
Tensor cumprod(const Tensor& x, int axis = -1, const CumulativeOptions& options = {});

/// Elements along `axis` in rising order, or falling, and the i64 places where they were. False is
/// before true. Equal ones keep their order (a stable sort); NaN counts as larger than all. Values
/// are differentiable.
struct SortOptions {
  bool descending = false;
};
std::pair<Tensor, Tensor> sort(const Tensor& x, int axis = -1, const SortOptions& options = {});
/// The places alone.
Tensor argsort(const Tensor& x, int axis = -1, const SortOptions& options = {});

}  // namespace plimsoll::ops
