// The tensor itself: what it is, its values, its views.
#include <plimsoll/tensor/tensor.h>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/shape_ops.h>

#include "bind.h"
#include "convert.h"
#include "exchange.h"
#include "indexing.h"
#include "operators.h"
#include "process.h"
#include "values.h"

namespace plimsoll::python {
namespace {

std::string html(const Tensor& x) {
  std::string text = x.to_string();
  std::string escaped;
  for (const char each : text) {
    if (each == '<') {
      escaped += "&lt;";
    } else if (each == '&') {
      escaped += "&amp;";
    } else {
      escaped += each;
    }
  }
  return "<pre>" + escaped + "</pre>";
}

/// What fits in one line is one, as lists and dicts of numbers show it.
std::string shown(const Tensor& x) {
  std::string text = x.to_string();
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.find('\n', end + 1) != std::string::npos) return text;
  return text.replace(end, 1, "  ");
}

/// f"{loss:.3f}" writes the number.
nb::object formatted(const Tensor& x, const std::string& spec) {
  if (spec.empty()) return nb::cast(shown(x));
  if (!x.is_symbolic() && x.elements() != 1) {
    throw nb::type_error(("[format] a tensor of shape " + x.shape().to_string() +
                          " is not one number that could be written as '" + spec +
                          "'; index it, or reduce it first: x.mean()")
                             .c_str());
  }
  const nb::object text = nb::cast(spec);
  nb::object written = nb::steal(PyObject_Format(item(x).ptr(), text.ptr()));
  if (!written.is_valid()) throw nb::python_error();
  return written;
}

}  // namespace

void bind_tensor(nb::module_& m) {
  nb::enum_<DType> dtypes(m, "DType", "What the elements of a tensor are.");
  for (const DType each : kDTypes) {
    dtypes.value(each == DType::boolean ? "bool_" : dtype_name(each).data(), each);
  }

  nb::class_<Tensor> tensor(
      m, "Tensor", nb::is_weak_referenceable(), nb::type_slots(buffer_slots()),
      "An n-dimensional array on a device. Copies and views share memory; pm.tensor, pm.zeros and "
      "their like make one.\n\n"
      ">>> x = pm.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
      ">>> (x * 2).sum().item()\n20.0");
  tensor
      .def_prop_ro(
          "shape", [](const Tensor& x) { return shape_tuple(x.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Extents, outermost first.")
      .def_prop_ro("dtype", &Tensor::dtype)
      .def_prop_ro("device", &Tensor::device)
      .def_prop_ro("ndim", &Tensor::rank, "Number of dimensions.")
      .def_prop_ro("size", &Tensor::elements, "Number of elements.")
      .def_prop_ro("nbytes", &Tensor::nbytes, "Bytes of the elements.")
      .def_prop_ro(
          "strides",
          [](const Tensor& x) {
            nb::list list;
            for (const std::int64_t each : x.strides()) list.append(each);
            return nb::tuple(list);
          },
          nb::sig("def strides(self) -> tuple[int, ...]"), "In elements, one per dimension.")
      .def_prop_ro("is_contiguous", &Tensor::is_contiguous,
                   "True if the elements lie in row-major order without gaps.")
      .def_prop_ro("is_symbolic", &Tensor::is_symbolic,
                   "True while a function is traced: it then has a type and no values.")
      .def_prop_ro(
          "label", [](const Tensor& x) { return x.storage()->label(); },
          "Who its memory is charged to.")
      .def("item", &item, nb::sig("def item(self) -> typing.Any"),
           "The value of a tensor with one element, as a Python number.")
      .def("tolist", &to_list, nb::sig("def tolist(self) -> typing.Any"),
           "The values as nested lists of Python numbers.")
      .def("numpy", &to_numpy, nb::sig("def numpy(self) -> typing.Any"),
           "A NumPy array that shares the memory. The tensor must be on the CPU.\n\n"
           ">>> a = pm.zeros((2, 3)).numpy()")
      .def(
          "clone",
          [](const Tensor& x) {
            const Unlocked unlocked;
            return x.clone();
          },
          "A contiguous copy on the same device.")
      .def(
          "contiguous",
          [](const Tensor& x) {
            const Unlocked unlocked;
            return x.contiguous();
          },
          "Itself if it is contiguous, else a copy.")
      .def("read_only", &Tensor::read_only, "The same memory, which refuses to be written.")
      .def("__repr__", &shown)
      .def("_repr_html_", &html)
      .def("__format__", &formatted, nb::arg("spec"),
           nb::sig("def __format__(self, spec: str, /) -> str"))
      .def("__hash__", [](const Tensor& x) { return x.id(); })
      .def("__bool__", &truth)
      .def("__float__", [](const Tensor& x) { return nb::float_(item(x)); })
      .def("__int__", [](const Tensor& x) { return nb::int_(item(x)); })
      .def(
          "__round__",
          [](const Tensor& x, nb::handle digits) {
            return nb::module_::import_("builtins").attr("round")(item(x), digits);
          },
          nb::arg("digits").none() = nb::none(),
          nb::sig("def __round__(self, digits: int | None = None, /) -> typing.Any"))
      .def("__index__", &as_index, nb::sig("def __index__(self) -> int"))
      .def("__len__",
           [](const Tensor& x) {
             if (x.rank() == 0)
               throw nb::type_error("[len] a tensor without dimensions has no length");
             return x.dim(0);
           })
      .def("__setitem__", &set_item,
           nb::sig("def __setitem__(self, index: typing.Any, value: Tensor | Variable | float, /) "
                   "-> None"))
      .def("__array__", &as_array, nb::arg("dtype").none() = nb::none(),
           nb::arg("copy").none() = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "typing.Any"))
      .def("__dlpack__", &to_capsule, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none(),
           nb::sig(
               "def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | "
               "None = None, "
               "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def("__dlpack_device__", &capsule_device,
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__reduce__", &reduce, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  bind_operators(tensor);
  bind_methods(tensor);
}

}  // namespace plimsoll::python
