#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <plimsoll/tensor/tensor.h>

// Elements chosen by slices, integers, masks and tensors of indices. Written in ops: it traces,
// carries gradients and runs on every device, unless it says otherwise.

namespace plimsoll::math {

/// Python's begin:end:step. What is outside the dimension is cut off, negative numbers count from
/// its end, and a negative step goes backwards.
struct Range {
  std::optional<std::int64_t> begin = std::nullopt;
  std::optional<std::int64_t> end = std::nullopt;
  std::int64_t step = 1;
};
/// All dimensions that no other entry is for; at most once.
struct Rest {};
/// A new dimension of one element.
struct NewAxis {};

/// One entry between the brackets of x[...]: a Range, an integer (its dimension goes away), Rest,
/// NewAxis, a tensor of i64 or i32 indices, or a bool tensor, a mask over as many dimensions as it
/// has.
using Index = std::variant<Range, std::int64_t, Rest, NewAxis, Tensor>;

/// x[at...] with PyTorch's rules: `index(x, {Range{}, 0, Range{.step = 2}})` is x[:, 0, ::2].
/// Dimensions without an entry stay. Tensors of indices broadcast with one another and stand for
/// their dimensions where these are side by side, else in front. Negative indices count from the
/// end.
///
/// InvalidArgument naming entry and dimension for what does not fit; for a mask in a trace, where
/// the number of elements it picks is not known: use where() there. An index of a tensor that is
/// outside its dimension is an InvalidArgument on the CPU when it runs, and gives NaN (0 for
/// integers) on a GPU.
Tensor index(const Tensor& x, const std::vector<Index>& at);

/// TensorFlow's gather_nd: indices [..., k] name elements of the first k dimensions of x, and the
/// result is [..., the rest of x's dimensions]. Indices as for index().
Tensor gather_nd(const Tensor& x, const Tensor& indices);
/// TensorFlow's scatter_nd: zeros of `shape` to which updates [..., rest] are added at
/// indices [..., k], in order of position.
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape);
/// PyTorch's gather: element i of dimension `axis` of each line is element indices[i] of x's; all
/// other extents of x and of the indices are the same.
Tensor take_along(const Tensor& x, const Tensor& indices, int axis = -1);

// The following wait for values and come back with as many elements as these say: not in traces.

/// i64 [count, rank]: where x is not zero (or true), in row-major order.
Tensor nonzero(const Tensor& x);

/// The distinct elements of x in rising order; for each element of x which of them it is (x's
/// shape), and how often each occurs. Every NaN is distinct.
struct Unique {
  Tensor values;
  Tensor inverse;
  Tensor counts;
};
Unique unique(const Tensor& x);

}  // namespace plimsoll::math
