// Ops that move elements.
#include <plimsoll/ops/shape_ops.h>

#include <nanobind/stl/vector.h>

#include "bind.h"
#include "convert.h"
#include "ops.h"
#include "process.h"

namespace plimsoll::python {

void bind_shape_ops(nb::module_& m) {
  m.def(
      "reshape",
      [](nb::handle x, nb::handle shape) {
        return ops::reshape(as_tensor(x, {"reshape", "x"}), as_ints(shape, {"reshape", "shape"}));
      },
      nb::arg("x"), nb::arg("shape"),
      nb::sig("def reshape(x: Tensor | Variable, shape: int | typing.Sequence[int]) -> Tensor"),
      "The same elements under another shape; one extent may be -1.");
  m.def(
      "transpose",
      [](nb::handle x, nb::handle order) {
        const Tensor given = as_tensor(x, {"transpose", "x"});
        std::vector<std::int64_t> dims = as_axes(order, {"transpose", "order"});
        if (order.is_none()) {
          for (int i = given.rank() - 1; i >= 0; --i) dims.push_back(i);
        }
        const Unlocked unlocked;
        return ops::transpose(given, dims);
      },
      nb::arg("x"), nb::arg("order").none() = nb::none(),
      nb::sig("def transpose(x: Tensor | Variable, order: typing.Sequence[int] | None = None) -> "
              "Tensor"),
      "Dimension i of the result is dimension order[i] of x; without an order all are reversed.");
  m.def(
      "broadcast_to",
      [](nb::handle x, nb::handle shape) {
        const Tensor given = as_tensor(x, {"broadcast_to", "x"});
        const Shape dims = as_shape(shape, {"broadcast_to", "shape"});
        const Unlocked unlocked;
        return ops::broadcast_to(given, dims);
      },
      nb::arg("x"), nb::arg("shape"),
      nb::sig(
          "def broadcast_to(x: Tensor | Variable, shape: int | typing.Sequence[int]) -> Tensor"),
      "Repeats dimensions of extent 1, and puts new ones in front, until the shape is `shape`.");
  m.def(
      "concat",
      [](nb::handle tensors, nb::handle axis) {
        const std::vector<Tensor> all = as_tensors(tensors, {"concat", "tensors"});
        const auto at = static_cast<int>(as_int(axis, {"concat", "axis"}));
        const Unlocked unlocked;
        return ops::concat(all, at);
      },
      nb::arg("tensors"), nb::arg("axis") = 0,
      nb::sig("def concat(tensors: typing.Sequence[Tensor | Variable], axis: int = 0) -> Tensor"),
      "Joins tensors along an axis; their other extents must be equal.");
  m.def(
      "stack",
      [](nb::handle tensors, nb::handle axis) {
        const std::vector<Tensor> all = as_tensors(tensors, {"stack", "tensors"});
        const auto at = static_cast<int>(as_int(axis, {"stack", "axis"}));
        const Unlocked unlocked;
        return ops::stack(all, at);
      },
      nb::arg("tensors"), nb::arg("axis") = 0,
      nb::sig("def stack(tensors: typing.Sequence[Tensor | Variable], axis: int = 0) -> Tensor"),
      "Joins tensors of one shape along a new axis.");
  m.def(
      "split",
      [](nb::handle x, nb::handle extents, nb::handle axis) {
        const Tensor given = as_tensor(x, {"split", "x"});
        const std::vector<std::int64_t> sizes = as_ints(extents, {"split", "extents"});
        const auto at = static_cast<int>(as_int(axis, {"split", "axis"}));
        const Unlocked unlocked;
        return ops::split(given, sizes, at);
      },
      nb::arg("x"), nb::arg("extents"), nb::arg("axis") = 0,
      nb::sig("def split(x: Tensor | Variable, extents: typing.Sequence[int], axis: int = 0) -> "
              "list[Tensor]"),
      "Pieces of the given extents along an axis, which they cover.");
  m.def(
      "pad",
      [](nb::handle x, nb::handle before, nb::handle after, nb::handle value) {
        const Tensor given = as_tensor(x, {"pad", "x"});
        const std::vector<std::int64_t> front = as_ints(before, {"pad", "before"});
        const std::vector<std::int64_t> back = as_ints(after, {"pad", "after"});
        const double with = as_double(value, {"pad", "value"});
        const Unlocked unlocked;
        return ops::pad(given, front, back, with);
      },
      nb::arg("x"), nb::arg("before"), nb::arg("after"), nb::arg("value") = 0,
      nb::sig("def pad(x: Tensor | Variable, before: typing.Sequence[int], after: "
              "typing.Sequence[int], "
              "value: float = 0) -> Tensor"),
      "`value` around x: before[i] and after[i] elements in dimension i.");
  m.def(
      "tile",
      [](nb::handle x, nb::handle counts) {
        const Tensor given = as_tensor(x, {"tile", "x"});
        const std::vector<std::int64_t> times = as_ints(counts, {"tile", "counts"});
        const Unlocked unlocked;
        return ops::tile(given, times);
      },
      nb::arg("x"), nb::arg("counts"),
      nb::sig("def tile(x: Tensor | Variable, counts: typing.Sequence[int]) -> Tensor"),
      "x repeated counts[i] times along dimension i.");
  m.def(
      "gather",
      [](nb::handle x, nb::handle indices, nb::handle axis) {
        const Tensor given = as_tensor(x, {"gather", "x"});
        const Tensor at = as_tensor(indices, {"gather", "indices"});
        const auto along = static_cast<int>(as_int(axis, {"gather", "axis"}));
        const Unlocked unlocked;
        return ops::gather(given, at, along);
      },
      nb::arg("x"), nb::arg("indices"), nb::arg("axis") = 0,
      nb::sig(
          "def gather(x: Tensor | Variable, indices: Tensor | Variable, axis: int = 0) -> Tensor"),
      "Slices of x along an axis at `indices`.");
  m.def(
      "scatter_add",
      [](nb::handle updates, nb::handle indices, nb::handle shape, nb::handle axis) {
        const Tensor given = as_tensor(updates, {"scatter_add", "updates"});
        const Tensor at = as_tensor(indices, {"scatter_add", "indices"});
        const Shape dims = as_shape(shape, {"scatter_add", "shape"});
        const auto along = static_cast<int>(as_int(axis, {"scatter_add", "axis"}));
        const Unlocked unlocked;
        return ops::scatter_add(given, at, dims, along);
      },
      nb::arg("updates"), nb::arg("indices"), nb::arg("shape"), nb::arg("axis") = 0,
      nb::sig("def scatter_add(updates: Tensor | Variable, indices: Tensor | Variable, "
              "shape: int | typing.Sequence[int], axis: int = 0) -> Tensor"),
      "Zeros of `shape` to which slices of `updates` are added at `indices`.");
  m.def(
      "embedding",
      [](nb::handle table, nb::handle ids) {
        const Tensor rows = as_tensor(table, {"embedding", "table"});
        const Tensor at = as_tensor(ids, {"embedding", "ids"});
        const Unlocked unlocked;
        return ops::embedding(rows, at);
      },
      nb::arg("table"), nb::arg("ids"),
      nb::sig("def embedding(table: Tensor | Variable, ids: Tensor | Variable) -> Tensor"),
      "Rows of `table` at `ids`.");
  m.def(
      "one_hot",
      [](nb::handle labels, nb::handle classes, nb::handle dtype) {
        const Tensor given = as_tensor(labels, {"one_hot", "labels"});
        const std::int64_t count = as_int(classes, {"one_hot", "classes"});
        const DType type = as_dtype(dtype, {"one_hot", "dtype"});
        const Unlocked unlocked;
        return ops::one_hot(given, count, type);
      },
      nb::arg("labels"), nb::arg("classes"), nb::arg("dtype") = DType::f32,
      nb::sig("def one_hot(labels: Tensor | Variable, classes: int, dtype: DType | str = 'f32') -> "
              "Tensor"),
      "1 at the label along a new last dimension, else 0.");
}

}  // namespace plimsoll::python
