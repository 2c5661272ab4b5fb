#pragma once

#include <span>
#include <vector>

#include <plimsoll/tensor/symbol.h>
#include <plimsoll/tensor/tensor.h>

namespace plimsoll::ops {

/// The same elements in row-major order under another shape; one extent may be -1. No copy.
Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape);
Tensor reshape(const Tensor& x, const Shape& shape);
/// Dimension i of the result is dimension order[i] of x. A copy.
Tensor transpose(const Tensor& x, const std::vector<std::int64_t>& order);
/// The elements that `view` shows, by the op that stands for it: for listeners of views.
Tensor view_as_op(const Tensor& x, const ViewOf& view);
/// Repeats dimensions of extent 1, and puts new ones in front, until the shape is `shape`.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Along `axis`, in which alone they may differ.
Tensor concat(const std::vector<Tensor>& tensors, int axis);
/// Along a new dimension `axis`.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);
/// Pieces of the given extents along `axis`, which they cover.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& extents, int axis);
/// Elements begin, begin + step, ... before end of dimension `axis`; below 0 counts from its end.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end = Tensor::kToEnd,
             std::int64_t step = 1);
/// `value` around x: before[i] and after[i] elements in dimension i. Below 0 takes that many
/// elements of x away.
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& before,
           const std::vector<std::int64_t>& after, double value = 0);
/// x repeated counts[i] times along dimension i.
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);
/// Slices of x along `axis` at `indices` (i32 or i64, of any shape, which takes the place of the
/// dimension). An index outside it is an InvalidArgument.
Tensor gather(const Tensor& x, const Tensor& indices, int axis = 0);
/// Zeros of `shape` to which the slices of `updates` are added at `indices` along `axis`, in order
/// of position: the gradient of gather.
Tensor scatter_add(const Tensor& updates, const Tensor& indices, const Shape& shape, int axis = 0);
/// Rows of `table` [count, features] at `ids` (i32 or i64): ids' shape, then features.
Tensor embedding(const Tensor& table, const Tensor& ids);
/// 1 at the label along a new last dimension, else 0; all 0 for labels outside.
Tensor one_hot(const Tensor& labels, std::int64_t classes, DType dtype = DType::f32);

}  // namespace plimsoll::ops
