// What map() traces: values of a program that have a type and no data.
#include "symbolic.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/device/default_device.h>

#include "values.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

using Two = Symbolic (*)(const Symbolic&, const Symbolic&);

Symbolic plus(const Symbolic& a, const Symbolic& b) { return a + b; }
Symbolic minus(const Symbolic& a, const Symbolic& b) { return a - b; }
Symbolic times(const Symbolic& a, const Symbolic& b) { return a * b; }
Symbolic by(const Symbolic& a, const Symbolic& b) { return a / b; }

/// As Python and NumPy divide, and as `//` of tensors does: rounded down. The op rounds integers
/// towards zero.
Symbolic floor_by(const Symbolic& a, const Symbolic& b) {
  if (!is_integer(a.dtype())) return data::floor(a / b);
  const Symbolic quotient = data::call_like(a, "div", std::array{a, b}).front();
  const Symbolic rest = a - quotient * b;
  const Symbolic apart = data::cast(rest < 0, DType::i64) != data::cast(b < 0, DType::i64);
  return quotient - data::cast(data::logical_and(apart, rest != 0), quotient.dtype());
}
/// What floor_by leaves, with the sign of `b`.
Symbolic remainder(const Symbolic& a, const Symbolic& b) { return a - floor_by(a, b) * b; }

Symbolic equal(const Symbolic& a, const Symbolic& b) { return a == b; }
Symbolic not_equal(const Symbolic& a, const Symbolic& b) { return a != b; }
Symbolic less(const Symbolic& a, const Symbolic& b) { return a < b; }
Symbolic less_equal(const Symbolic& a, const Symbolic& b) { return a <= b; }
Symbolic greater(const Symbolic& a, const Symbolic& b) { return a > b; }
Symbolic greater_equal(const Symbolic& a, const Symbolic& b) { return a >= b; }

}  // namespace

std::optional<Symbolic> beside(const Symbolic& like, nb::handle other, bool divides) {
  Traced* traced = nullptr;
  if (nb::try_cast(other, traced) && traced != nullptr) return traced->value;
  if (const auto number = as_scalar(other)) {
    return divides ? data::divisor_like(like, *number) : data::number_like(like, *number);
  }
  if (is_tensor(other) || nb::hasattr(other, "__array_interface__") ||
      PyList_Check(other.ptr()) != 0) {
    const Tensor made = make_tensor(other, like.dtype(), DefaultDevice::host());
    return data::constant_like(like, data::Value(made));
  }
  return std::nullopt;
}

namespace {

/// What text gives beside a component: whether a byte string equals it, and no more.
nb::object beside_text(const Symbolic& x, nb::handle other, const std::string& method) {
  const bool equals = method == "__eq__" || method == "__ne__";
  if (!equals || x.dtype() != DType::bytes) {
    const std::string shown = nb::cast<std::string>(nb::repr(other));
    throw nb::type_error(
        ("[map] text, " + shown + ", stands beside " + x.describe() + ", " + x.spec().to_string() +
         (equals ? ", which is never equal to it"
                 : "; pm.strings has what can be done with text here, and map(f, python=True) "
                   "what Python does"))
            .c_str());
  }
  const auto text =
      PyBytes_Check(other.ptr()) != 0
          ? std::string(nb::borrow<nb::bytes>(other).c_str(), nb::borrow<nb::bytes>(other).size())
          : nb::cast<std::string>(other);
  const Symbolic same = strings::equals(x, text);
  return nb::cast(Traced{method == "__eq__" ? same : data::logical_not(same)});
}

void binary(nb::handle cls, const char* name, const char* reflected, Two op, bool divides = false) {
  const auto define = [&](const char* as, bool swapped) {
    nb::cpp_function_def(
        [op, divides, swapped, as = std::string(as)](const Traced& self,
                                                     nb::handle other) -> nb::object {
          if (PyUnicode_Check(other.ptr()) != 0 || PyBytes_Check(other.ptr()) != 0) {
            return beside_text(self.value, other, as);
          }
          const auto side = beside(self.value, other, divides);
          if (!side) return nb::borrow(nb::handle(Py_NotImplemented));
          return nb::cast(Traced{swapped ? op(*side, self.value) : op(self.value, *side)});
        },
        nb::scope(cls), nb::name(as), nb::is_method(), nb::is_operator(),
        nb::sig(("def " + std::string(as) + "(self, other: typing.Any, /) -> Symbolic").c_str()));
  };
  define(name, false);
  if (reflected != nullptr) define(reflected, true);
}

nb::object shape_of(const Traced& self) {
  const auto& dims = self.value.spec().dims;
  if (!dims) return nb::none();
  nb::list list;
  for (const std::int64_t each : *dims) {
    list.append(each == data::kAnyExtent ? nb::none() : nb::object(nb::int_(each)));
  }
  return nb::tuple(list);
}

/// Slices, integers, None and `...`.
Symbolic indexed(const Symbolic& x, nb::handle index) {
  std::vector<nb::object> parts;
  if (PyTuple_Check(index.ptr()) != 0) {
    for (nb::handle each : index) parts.push_back(nb::borrow(each));
  } else {
    parts.push_back(nb::borrow(index));
  }
  Symbolic result = x;
  int axis = 0;
  int used = 0;
  for (const nb::object& each : parts) {
    used += each.is_none() || each.ptr() == Py_Ellipsis ? 0 : 1;
  }
  std::vector<int> removed;
  for (const nb::object& each : parts) {
    if (each.ptr() == Py_Ellipsis) {
      axis += x.rank() - used;
    } else if (each.is_none()) {
      ops::Attributes at;
      at.set("axis", static_cast<std::int64_t>(axis++));
      const std::vector<Symbolic> one = {result};
      result = data::call_like(result, "expand_dims", one, at).front();
    } else if (PySlice_Check(each.ptr()) != 0) {
      const nb::object begin = each.attr("start");
      const nb::object end = each.attr("stop");
      const nb::object step = each.attr("step");
      const bool whole = begin.is_none() && end.is_none() && step.is_none();
      if (!step.is_none() && as_int(step, {"index", "the step"}) < 1) {
        wrong_value({"index", "the step"}, step,
                    "while it is traced it must be at least 1; map(f, python=True) calls NumPy");
      }
      if (!whole) {
        result =
            data::slice(result, axis, begin.is_none() ? 0 : as_int(begin, {"index", "the start"}),
                        end.is_none() ? Tensor::kToEnd : as_int(end, {"index", "the end"}),
                        step.is_none() ? 1 : as_int(step, {"index", "the step"}));
      }
      ++axis;
    } else if (PyIndex_Check(each.ptr()) != 0) {
      const std::int64_t at = as_int(each, {"index", "the index"});
      result = data::slice(result, axis, at, at == -1 ? Tensor::kToEnd : at + 1);
      removed.push_back(axis++);
    } else {
      wrong_type({"index", "the index"}, each,
                 "while it is traced give integers, slices, None or ...; "
                 "pm.gather(x, indices) takes several");
    }
  }
  if (removed.empty()) return result;
  std::vector<std::int64_t> shape;
  int unknown = 0;
  for (int i = 0; i < result.rank(); ++i) {
    if (std::find(removed.begin(), removed.end(), i) != removed.end()) continue;
    const std::int64_t extent = result.spec().dims->at(static_cast<std::size_t>(i));
    unknown += extent == data::kAnyExtent ? 1 : 0;
    shape.push_back(extent == data::kAnyExtent ? -1 : extent);
  }
  if (unknown > 1) {
    throw InvalidArgument(
        "[index] an integer takes a dimension away, which needs the other extents, and " +
        x.describe() + " has several that are not known yet; use a slice: x[0:1], or resize first");
  }
  return data::reshape(result, shape);
}

std::size_t axis_of(const Symbolic& x, nb::handle axis, Where where) {
  const std::int64_t given = as_int(axis, where);
  const std::int64_t at = given < 0 ? given + x.rank() : given;
  if (at < 0 || at >= x.rank()) {
    wrong_value(where, axis, ("there are " + std::to_string(x.rank()) + " dimensions").c_str());
  }
  return static_cast<std::size_t>(at);
}

/// The dimensions from `start` on as one.
Symbolic flattened(const Symbolic& x, nb::handle start) {
  if (x.rank() == 0) return data::reshape(x, {1});
  const std::size_t first = axis_of(x, start, {"flatten", "start"});
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < first; ++i) shape.push_back(x.spec().dims->at(i));
  if (std::ranges::count(shape, data::kAnyExtent) != 0) {
    throw InvalidArgument("[flatten] extents before 'start' are not known yet; resize first");
  }
  shape.push_back(-1);
  return data::reshape(x, shape);
}

Symbolic swapped(const Symbolic& x, nb::handle a, nb::handle b) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(axis_of(x, a, {"swapaxes", "a"})), order.at(axis_of(x, b, {"swapaxes", "b"})));
  return data::transpose(x, order);
}

void reduction(nb::class_<Traced>& cls, const char* name,
               Symbolic (*op)(const Symbolic&, const ops::ReduceOptions&)) {
  cls.def(
      name,
      [name, op](const Traced& self, nb::handle axis, bool keepdims) {
        return Traced{op(self.value, {as_axes(axis, {name, "axis"}), keepdims})};
      },
      nb::arg("axis").none() = nb::none(), nb::kw_only(), nb::arg("keepdims") = false,
      nb::sig(
          ("def " + std::string(name) +
           "(self, axis: int | typing.Sequence[int] | None = None, *, keepdims: bool = False) -> "
           "Symbolic")
              .c_str()));
}

void no_value(nb::class_<Traced>& cls, const char* name, const char* what, const char* returns) {
  cls.def(
      name,
      [what](const Traced& self) -> nb::object {
        throw InvalidArgument("[map] " + self.value.describe() +
                              " has no value yet: the function is traced, and runs once for all "
                              "elements; " +
                              what + ". map(f, python=True) calls it for each");
      },
      nb::sig(("def " + std::string(name) + "(self) -> " + returns).c_str()));
}

}  // namespace

Symbolic sum_or_count(const Symbolic& x, const ops::ReduceOptions& options) {
  return data::sum(x.dtype() == DType::boolean ? data::cast(x, DType::i64) : x, options);
}

Symbolic mean_or_share(const Symbolic& x, const ops::ReduceOptions& options) {
  return data::mean(x.dtype() == DType::boolean ? data::cast(x, DType::f32) : x, options);
}

Symbolic variance(const Symbolic& x, const ops::ReduceOptions& options) {
  ops::ReduceOptions kept = options;
  kept.keep_dims = true;
  const Symbolic apart = x - data::mean(x, kept);
  return data::mean(apart * apart, options);
}

Symbolic as_symbolic(nb::handle value, Where where) {
  Traced* traced = nullptr;
  if (nb::try_cast(value, traced) && traced != nullptr) return traced->value;
  if (is_tensor(value) || nb::hasattr(value, "__array_interface__")) {
    wrong_type(where, value,
               "it must be a component of the element that map() traces; of one array: "
               "next(iter(pm.data.from_tensor_slices(x[None]).map(f)))");
  }
  wrong_type(where, value, "it must be a component of the element that map() traces");
}

Symbolic as_picture(nb::handle value, Where where) {
  Traced* traced = nullptr;
  if (!nb::try_cast(value, traced) || traced == nullptr) return as_symbolic(value, where);
  if (traced->value.dtype() != DType::bytes) return traced->value;
  return image::decode(traced->is_input ? data::read_file(traced->value) : traced->value);
}

void bind_symbolic_class(nb::module_& m) {
  nb::class_<Traced> cls(m, "Symbolic",
                         "A component of an element while a function that is given to map() is "
                         "traced: it has a dtype, a shape as far as it is known, and no value.");
  cls.def_prop_ro("dtype", [](const Traced& self) { return self.value.dtype(); })
      .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int | None, ...] | None"))
      .def_prop_ro("ndim", [](const Traced& self) { return self.value.rank(); })
      .def(
          "to",
          [](const Traced& self, nb::handle dtype) {
            return Traced{data::cast(self.value, as_dtype(dtype, {"to", "dtype"}))};
          },
          nb::arg("dtype"), nb::sig("def to(self, dtype: DType | str) -> Symbolic"))
      .def(
          "reshape",
          [](const Traced& self, nb::args shape) {
            return Traced{data::reshape(self.value, length(shape) == 1
                                                        ? as_ints(shape[0], {"reshape", "shape"})
                                                        : as_ints(shape, {"reshape", "shape"}))};
          },
          nb::sig("def reshape(self, *shape: int | typing.Sequence[int]) -> Symbolic"))
      .def(
          "transpose",
          [](const Traced& self, nb::args order) {
            return Traced{data::transpose(
                self.value, length(order) == 1 ? as_ints(order[0], {"transpose", "order"})
                                               : as_ints(order, {"transpose", "order"}))};
          },
          nb::sig("def transpose(self, *order: int | typing.Sequence[int]) -> Symbolic"))
      .def(
          "flatten",
          [](const Traced& self, nb::handle start) { return Traced{flattened(self.value, start)}; },
          nb::arg("start") = 0, nb::sig("def flatten(self, start: int = 0) -> Symbolic"))
      .def(
          "swapaxes",
          [](const Traced& self, nb::handle a, nb::handle b) {
            return Traced{swapped(self.value, a, b)};
          },
          nb::arg("a"), nb::arg("b"), nb::sig("def swapaxes(self, a: int, b: int) -> Symbolic"))
      .def(
          "argmax",
          [](const Traced& self, int axis) { return Traced{data::argmax(self.value, axis)}; },
          nb::arg("axis") = -1)
      .def("__neg__", [](const Traced& self) { return Traced{-self.value}; })
      .def("__abs__", [](const Traced& self) { return Traced{data::abs(self.value)}; })
      .def("__invert__", [](const Traced& self) { return Traced{data::logical_not(self.value)}; })
      .def(
          "__getitem__",
          [](const Traced& self, nb::handle index) { return Traced{indexed(self.value, index)}; },
          nb::arg("index").none(),
          nb::sig("def __getitem__(self, index: typing.Any, /) -> Symbolic"))
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<std::uintptr_t>(self.ptr()); })
      .def("__repr__", [](const Traced& self) {
        return "Symbolic(" + self.value.describe() + ", " + self.value.spec().to_string() + ")";
      });
  binary(cls, "__add__", "__radd__", plus);
  binary(cls, "__sub__", "__rsub__", minus);
  binary(cls, "__mul__", "__rmul__", times);
  binary(cls, "__truediv__", "__rtruediv__", by, true);
  binary(cls, "__floordiv__", "__rfloordiv__", floor_by);
  binary(cls, "__mod__", "__rmod__", remainder);
  binary(cls, "__pow__", "__rpow__", data::pow);
  binary(cls, "__matmul__", "__rmatmul__", data::matmul);
  binary(cls, "__eq__", nullptr, equal);
  binary(cls, "__ne__", nullptr, not_equal);
  binary(cls, "__lt__", nullptr, less);
  binary(cls, "__le__", nullptr, less_equal);
  binary(cls, "__gt__", nullptr, greater);
  binary(cls, "__ge__", nullptr, greater_equal);
  binary(cls, "__and__", nullptr, data::logical_and);
  binary(cls, "__or__", nullptr, data::logical_or);
  reduction(cls, "sum", sum_or_count);
  reduction(cls, "mean", mean_or_share);
  reduction(cls, "variance", variance);
  reduction(cls, "max", data::max);
  reduction(cls, "min", data::min);
  reduction(cls, "all", data::all);
  reduction(cls, "any", data::any);
  no_value(cls, "__bool__", "use pm.where(condition, a, b) instead of `if`", "bool");
  no_value(cls, "__float__", "compute with it as it is", "float");
  no_value(cls, "__int__", "compute with it as it is", "int");
  no_value(cls, "__index__", "compute with it as it is", "int");
  no_value(cls, "__len__", "its extents are in x.shape as far as they are known", "int");
  cls.def(
      "__format__",
      [](nb::handle self, nb::handle how) {
        if (nb::len(how) != 0) nb::object(self.attr("item")());  // which says that it has no value
        return nb::repr(self);
      },
      nb::arg("how"), nb::sig("def __format__(self, how: str, /) -> str"));
  no_value(cls, "__iter__", "it cannot be looped over", "typing.Iterator[Symbolic]");
  no_value(cls, "item", "compute with it as it is", "typing.NoReturn");
  no_value(cls, "numpy", "compute with pm's ops", "typing.NoReturn");
  nb::setattr(cls, "__array_ufunc__", nb::none());
}

}  // namespace plimsoll::python
