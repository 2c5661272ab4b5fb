// Methods that tensors and variables share.
#include <string>

#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "convert.h"
#include "indexing.h"
#include "process.h"

namespace plimsoll::python {
namespace {

void method(nb::handle cls, const char* name, Tensor (*op)(const Tensor&), const char* doc) {
  nb::cpp_function_def(
      [op](nb::handle self) {
        const Tensor x = as_tensor(self, {"tensor", "self"});
        const Unlocked unlocked;
        return op(x);
      },
      nb::scope(cls), nb::name(name), nb::is_method(),
      nb::sig(("def " + std::string(name) + "(self) -> Tensor").c_str()), doc);
}

void reduction(nb::handle cls, const char* name,
               Tensor (*op)(const Tensor&, const ops::ReduceOptions&), const char* doc) {
  nb::cpp_function_def(
      [op, name](nb::handle self, nb::handle axis, bool keepdims) {
        const Tensor x = as_tensor(self, {name, "self"});
        const ops::ReduceOptions options{as_axes(axis, {name, "axis"}), keepdims};
        const Unlocked unlocked;
        return op(x, options);
      },
      nb::scope(cls), nb::name(name), nb::is_method(), nb::arg("axis").none() = nb::none(),
      nb::kw_only(), nb::arg("keepdims") = false,
      nb::sig(("def " + std::string(name) +
               "(self, axis: int | typing.Sequence[int] | None = None, *, keepdims: bool = False)"
               " -> Tensor")
                  .c_str()),
      doc);
}

std::vector<std::int64_t> dims_of(const nb::args& shape, Where where) {
  if (length(shape) == 1) return as_ints(shape[0], where);
  return as_ints(shape, where);
}

Tensor reversed(const Tensor& x, const std::vector<std::int64_t>& order) {
  if (is_followed(x)) return ops::transpose(x, order);
  const std::vector<int> dims(order.begin(), order.end());
  return x.permute(dims);
}

Tensor flatten(const Tensor& x) { return ops::reshape(x, std::vector<std::int64_t>{-1}); }

}  // namespace

void bind_methods(nb::handle cls) {
  reduction(cls, "sum", ops::sum, "The sum over all elements, or over an axis.");
  reduction(cls, "mean", ops::mean, "The mean over all elements, or over an axis.");
  reduction(cls, "max", ops::max, "The largest of all elements, or along an axis.");
  reduction(cls, "min", ops::min, "The smallest of all elements, or along an axis.");
  reduction(cls, "prod", ops::prod, "The product of all elements, or along an axis.");
  reduction(cls, "variance", ops::variance, "The mean of the squared distance from the mean.");
  reduction(cls, "all", ops::all, "Whether all are true.");
  reduction(cls, "any", ops::any, "Whether any is true.");
  method(cls, "flatten", flatten, "All elements in one dimension.");
  nb::cpp_function_def(
      [](nb::handle self, nb::handle axis) {
        const Tensor x = as_tensor(self, {"argmax", "self"});
        const auto along = static_cast<int>(as_int(axis, {"argmax", "axis"}));
        const Unlocked unlocked;
        return ops::argmax(x, along);
      },
      nb::scope(cls), nb::name("argmax"), nb::is_method(), nb::arg("axis") = -1,
      nb::sig("def argmax(self, axis: int = -1) -> Tensor"), "Index of the largest along an axis.");
  nb::cpp_function_def(
      [](nb::handle self, nb::args shape) {
        const Tensor x = as_tensor(self, {"reshape", "self"});
        return ops::reshape(x, dims_of(shape, {"reshape", "shape"}));
      },
      nb::scope(cls), nb::name("reshape"), nb::is_method(),
      nb::sig("def reshape(self, *shape: int | typing.Sequence[int]) -> Tensor"),
      "The same elements under another shape; one extent may be -1.");
  nb::cpp_function_def(
      [](nb::handle self, nb::args order) {
        const Tensor x = as_tensor(self, {"transpose", "self"});
        std::vector<std::int64_t> dims = dims_of(order, {"transpose", "order"});
        if (length(order) == 0) {
          for (int i = x.rank() - 1; i >= 0; --i) dims.push_back(i);
        }
        return reversed(x, dims);
      },
      nb::scope(cls), nb::name("transpose"), nb::is_method(),
      nb::sig("def transpose(self, *order: int | typing.Sequence[int]) -> Tensor"),
      "Dimension i of the result is dimension order[i] of this; without an order all are "
      "reversed.");
  nb::cpp_function_def(
      [](nb::handle self, nb::handle index) {
        return get_item(as_tensor(self, {"index", "self"}), index);
      },
      nb::scope(cls), nb::name("__getitem__"), nb::is_method(),
      nb::sig("def __getitem__(self, index: typing.Any, /) -> Tensor"));
  nb::cpp_function_def(
      [](nb::handle self) {
        const Tensor x = as_tensor(self, {"iter", "self"});
        if (x.rank() == 0) {
          throw nb::type_error("[iter] a tensor without dimensions has no elements; use item()");
        }
        return nb::steal(PySeqIter_New(self.ptr()));
      },
      nb::scope(cls), nb::name("__iter__"), nb::is_method(),
      nb::sig("def __iter__(self) -> typing.Iterator[Tensor]"));
}

}  // namespace plimsoll::python
