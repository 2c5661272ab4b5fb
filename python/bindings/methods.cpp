// Methods that tensors and variables share.
#include <string>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/reduce.h>
#include <plimsoll/ops/shape_ops.h>

#include "convert.h"
#include "indexing.h"
#include "ops.h"
#include "process.h"

namespace plimsoll::python {
namespace {

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

Tensor reordered(const Tensor& x, const std::vector<std::int64_t>& order) {
  if (static_cast<int>(order.size()) != x.rank()) {
    throw InvalidArgument("[transpose] the order has " +
                          counted(static_cast<std::int64_t>(order.size()), "axis", "axes") +
                          ", and the tensor " + x.shape().to_string() + " has " +
                          counted(x.rank(), "dimension") +
                          "; name each once, or swap two of them: x.swapaxes(-2, -1)");
  }
  if (is_followed(x)) return ops::transpose(x, order);
  const std::vector<int> dims(order.begin(), order.end());
  return x.permute(dims);
}

/// `axis` of Python as one from 0.
int axis_of(const Tensor& x, nb::handle axis, Where where) {
  const std::int64_t given = as_int(axis, where);
  const std::int64_t at = given < 0 ? given + x.rank() : given;
  if (at < 0 || at >= x.rank()) {
    wrong_value(where, axis, ("the tensor has " + counted(x.rank(), "dimension")).c_str());
  }
  return static_cast<int>(at);
}

Tensor swapped(const Tensor& x, int a, int b) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i == a ? b : i == b ? a : i);
  return reordered(x, order);
}

/// `x` on another device, in another dtype, or both.
Tensor to(const Tensor& x, nb::handle device, nb::handle dtype) {
  Tensor result = x;
  nb::handle where = device;
  nb::handle what = dtype;
  // x.to(pm.f16), x.to("bf16"): one argument may be either.
  if (!where.is_none() && what.is_none()) {
    DType ignored{};
    const bool is_device = nb::isinstance<Device>(where) || nb::hasattr(where, "_session_device");
    bool is_name = PyUnicode_Check(where.ptr()) != 0;
    if (is_name) {
      const std::string text = as_text(where, {"to", "device"});
      is_name = text.rfind("cpu", 0) != 0 && text.rfind("cuda", 0) != 0;
    }
    if (is_name || nb::try_cast(where, ignored, false) ||
        (!is_device && PyUnicode_Check(where.ptr()) == 0)) {
      std::swap(where, what);
      where = nb::none();
      what = device;
    }
  }
  if (!what.is_none()) {
    const DType wanted = as_dtype(what, {"to", "dtype"});
    const Unlocked unlocked;
    result = ops::cast(result, wanted);
  }
  if (!where.is_none()) {
    const Device wanted = as_device(where, {"to", "device"});
    const Unlocked unlocked;
    result = result.to(wanted);
  }
  return result;
}

/// The dimensions from `start` to `end` as one.
Tensor flattened(const Tensor& x, int start, int end) {
  std::vector<std::int64_t> shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i > start && i <= end) {
      shape.back() *= x.dim(i);
    } else {
      shape.push_back(x.dim(i));
    }
  }
  return ops::reshape(x, shape);
}

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
  nb::cpp_function_def(
      [](nb::handle self, nb::handle device, nb::handle dtype) {
        return to(as_tensor(self, {"to", "self"}), device, dtype);
      },
      nb::scope(cls), nb::name("to"), nb::is_method(), nb::arg("device").none() = nb::none(),
      nb::arg("dtype").none() = nb::none(),
      nb::sig("def to(self, device: Device | Session | DType | str | None = None, "
              "dtype: DType | str | None = None) -> Tensor"),
      "The same values on another device, in another dtype, or both: x.to(\"cuda:0\"), "
      "x.to(pm.bf16).");
  nb::cpp_function_def(
      [](nb::handle self, nb::handle start, nb::handle end) {
        const Tensor x = as_tensor(self, {"flatten", "self"});
        if (x.rank() == 0) return ops::reshape(x, std::vector<std::int64_t>{1});
        const int first = axis_of(x, start, {"flatten", "start"});
        const int last = axis_of(x, end, {"flatten", "end"});
        if (first > last) wrong_value({"flatten", "end"}, end, "it must not be before start");
        return flattened(x, first, last);
      },
      nb::scope(cls), nb::name("flatten"), nb::is_method(), nb::arg("start") = 0,
      nb::arg("end") = -1, nb::sig("def flatten(self, start: int = 0, end: int = -1) -> Tensor"),
      "All elements in one dimension, or the dimensions from `start` to `end`, both included, as "
      "one.\n\n>>> x.flatten(1)");
  nb::cpp_function_def(
      [](nb::handle self, nb::handle a, nb::handle b) {
        const Tensor x = as_tensor(self, {"swapaxes", "self"});
        return swapped(x, axis_of(x, a, {"swapaxes", "a"}), axis_of(x, b, {"swapaxes", "b"}));
      },
      nb::scope(cls), nb::name("swapaxes"), nb::is_method(), nb::arg("a"), nb::arg("b"),
      nb::sig("def swapaxes(self, a: int, b: int) -> Tensor"),
      "The same elements with two dimensions in each other's place.\n\n>>> x.swapaxes(-2, -1)");
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
        return reordered(x, dims);
      },
      nb::scope(cls), nb::name("transpose"), nb::is_method(),
      nb::sig("def transpose(self, *order: int | typing.Sequence[int]) -> Tensor"),
      "Dimension i of the result is dimension order[i] of this; without an order all are "
      "reversed.");
  nb::cpp_function_def(
      [](nb::handle self, nb::handle index) {
        return get_item(as_tensor(self, {"index", "self"}), index);
      },
      nb::scope(cls), nb::name("__getitem__"), nb::is_method(), nb::arg("index").none(),
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
