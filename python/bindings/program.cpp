// Programs: functions of elements that map() traces, and what can be done in them.
#include <plimsoll/data/program.h>

#include <algorithm>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/data/dataset.h>
#include <plimsoll/data/program_ops.h>

#include "bind.h"
#include "symbolic.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

thread_local const Symbolic* beside_element = nullptr;

/// Draws belong to elements, between its construction and its end.
class Drawing {
 public:
  explicit Drawing(const Symbolic* beside) : before_(std::exchange(beside_element, beside)) {}
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  ~Drawing() { beside_element = before_; }

 private:
  const Symbolic* before_;
};

/// The program of Python's `function` for elements of `set`.
data::Program trace(const data::Dataset& set, nb::handle function, bool draws) {
  if (!set.element_spec().known) {
    throw InvalidArgument(
        "[map] what comes into this map is not known, so that it cannot be traced; say it with "
        "spec= "
        "where the elements are made, or use map(f, python=True)");
  }
  data::ProgramBuilder builder(set.element_spec());
  const data::Symbolics inputs = builder.inputs();
  nb::list components;
  for (const auto& each : inputs) components.append(Traced{each.value, true});
  const Drawing drawing(draws && inputs.size() > 0 ? &inputs.begin()->value : nullptr);
  const nb::object result = function(*nb::tuple(components));
  data::Symbolics outputs;
  const auto add = [&](const std::string& name, nb::handle value) {
    Traced* traced = nullptr;
    if (nb::try_cast(value, traced) && traced != nullptr) {
      outputs.push_back({name, traced->value});
    } else if (const auto number = as_number(value)) {
      const bool whole = PyLong_Check(value.ptr()) != 0;
      outputs.push_back(
          {name, whole ? builder.constant(data::Value(as_int(value, {"map", name.c_str()})))
                       : builder.constant(data::Value(static_cast<float>(*number)))});
    } else {
      wrong_type(
          {"map", "what the function returns"}, value,
          "it must be components of the element, in a tuple or a dict; is there a `return`?");
    }
  };
  if (PyDict_Check(result.ptr()) != 0) {
    for (const auto& [name, value] : nb::borrow<nb::dict>(result)) {
      add(as_text(name, {"map", "a name"}), value);
    }
  } else if (PyTuple_Check(result.ptr()) != 0 || PyList_Check(result.ptr()) != 0) {
    for (nb::handle each : result) add("", each);
  } else {
    add("", result);
  }
  return builder.finish(outputs);
}

/// An overload for what is traced of an op that tensors have, too.
void unary(nb::module_& m, const char* name, Symbolic (*op)(const Symbolic&)) {
  m.def(
      name, [op](const Traced& x) { return Traced{op(x.value)}; }, nb::arg("x"));
}

Symbolic other_side(const Symbolic& like, nb::handle other, Where where) {
  if (auto found = beside(like, other)) return *found;
  wrong_type(where, other, "it must be a component of the element, a number or a tensor");
}

void binary(nb::module_& m, const char* name, Symbolic (*op)(const Symbolic&, const Symbolic&)) {
  m.def(
      name,
      [name, op](const Traced& a, nb::handle b) {
        return Traced{op(a.value, other_side(a.value, b, {name, "b"}))};
      },
      nb::arg("a"), nb::arg("b"),
      nb::sig(
          ("def " + std::string(name) + "(a: Symbolic, b: Symbolic | Tensor | float) -> Symbolic")
              .c_str()));
  m.def(
      name,
      [name, op](nb::handle a, const Traced& b) {
        return Traced{op(other_side(b.value, a, {name, "a"}), b.value)};
      },
      nb::arg("a"), nb::arg("b"),
      nb::sig(
          ("def " + std::string(name) + "(a: Tensor | float, b: Symbolic) -> Symbolic").c_str()));
}

void reduction(nb::module_& m, const char* name,
               Symbolic (*op)(const Symbolic&, const ops::ReduceOptions&)) {
  m.def(
      name,
      [name, op](const Traced& x, nb::handle axis, bool keepdims) {
        return Traced{op(x.value, {as_axes(axis, {name, "axis"}), keepdims})};
      },
      nb::arg("x"), nb::arg("axis").none() = nb::none(), nb::kw_only(), nb::arg("keepdims") = false,
      nb::sig(("def " + std::string(name) +
               "(x: Symbolic, axis: int | typing.Sequence[int] | None = None, *, keepdims: bool = "
               "False) -> Symbolic")
                  .c_str()));
}

/// The first of the values that is traced; nullptr if none is.
const Traced* first_traced(nb::handle values) {
  if (PyList_Check(values.ptr()) == 0 && PyTuple_Check(values.ptr()) == 0) return nullptr;
  for (nb::handle each : values) {
    Traced* traced = nullptr;
    if (nb::try_cast(each, traced) && traced != nullptr) return traced;
  }
  return nullptr;
}

std::vector<Symbolic> symbolics(nb::handle values, const Symbolic& like, Where where) {
  std::vector<Symbolic> all;
  for (nb::handle each : values) all.push_back(other_side(like, each, where));
  return all;
}

void bind_overloads(nb::module_& m) {
  unary(m, "abs", data::abs);
  unary(m, "sqrt", data::sqrt);
  unary(m, "exp", data::exp);
  unary(m, "log", data::log);
  unary(m, "floor", data::floor);
  unary(m, "round", data::round);
  unary(m, "logical_not", data::logical_not);
  binary(m, "maximum", data::maximum);
  binary(m, "minimum", data::minimum);
  binary(m, "pow", data::pow);
  binary(m, "logical_and", data::logical_and);
  binary(m, "logical_or", data::logical_or);
  binary(m, "matmul", data::matmul);
  reduction(m, "sum", sum_or_count);
  reduction(m, "mean", mean_or_share);
  reduction(m, "variance", variance);
  reduction(m, "max", data::max);
  reduction(m, "min", data::min);
  reduction(m, "any", data::any);
  reduction(m, "all", data::all);
  m.def(
      "argmax", [](const Traced& x, int axis) { return Traced{data::argmax(x.value, axis)}; },
      nb::arg("x"), nb::arg("axis") = -1);
  m.def(
      "clip",
      [](const Traced& x, nb::handle low, nb::handle high) {
        return Traced{data::clip(x.value, as_double(low, {"clip", "low"}),
                                 as_double(high, {"clip", "high"}))};
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"),
      nb::sig("def clip(x: Symbolic, low: float, high: float) -> Symbolic"));
  m.def(
      "cast",
      [](const Traced& x, nb::handle dtype) {
        return Traced{data::cast(x.value, as_dtype(dtype, {"cast", "dtype"}))};
      },
      nb::arg("x"), nb::arg("dtype"),
      nb::sig("def cast(x: Symbolic, dtype: DType | str) -> Symbolic"));
  m.def(
      "reshape",
      [](const Traced& x, nb::handle shape) {
        return Traced{data::reshape(x.value, as_ints(shape, {"reshape", "shape"}))};
      },
      nb::arg("x"), nb::arg("shape"),
      nb::sig("def reshape(x: Symbolic, shape: int | typing.Sequence[int]) -> Symbolic"));
  m.def(
      "transpose",
      [](const Traced& x, nb::handle order) {
        return Traced{data::transpose(x.value, as_ints(order, {"transpose", "order"}))};
      },
      nb::arg("x"), nb::arg("order"),
      nb::sig("def transpose(x: Symbolic, order: typing.Sequence[int]) -> Symbolic"));
  m.def(
      "one_hot",
      [](const Traced& labels, std::int64_t classes, nb::handle dtype) {
        return Traced{data::one_hot(labels.value, classes, as_dtype(dtype, {"one_hot", "dtype"}))};
      },
      nb::arg("labels"), nb::arg("classes"), nb::arg("dtype") = DType::f32,
      nb::sig(
          "def one_hot(labels: Symbolic, classes: int, dtype: DType | str = 'f32') -> Symbolic"));
  m.def(
      "gather",
      [](const Traced& x, const Traced& indices, int axis) {
        return Traced{data::gather(x.value, indices.value, axis)};
      },
      nb::arg("x"), nb::arg("indices"), nb::arg("axis") = 0);
  // A table of one's own, which is a constant of the program.
  m.def(
      "gather",
      [](nb::handle table, const Traced& indices, int axis) {
        const Tensor values = as_tensor(table, {"gather", "x"});
        return Traced{data::gather(data::constant_like(indices.value, data::Value(values)),
                                   indices.value, axis)};
      },
      nb::arg("x"), nb::arg("indices"), nb::arg("axis") = 0,
      nb::sig("def gather(x: Tensor, indices: Symbolic, axis: int = 0) -> Symbolic"));
  m.def(
      "gather",
      [](const Traced& x, nb::handle indices, int axis) {
        const Tensor which = as_tensor(indices, {"gather", "indices"});
        return Traced{
            data::gather(x.value, data::constant_like(x.value, data::Value(which)), axis)};
      },
      nb::arg("x"), nb::arg("indices"), nb::arg("axis") = 0,
      nb::sig("def gather(x: Symbolic, indices: Tensor, axis: int = 0) -> Symbolic"));
  m.def(
      "pad",
      [](const Traced& x, nb::handle before, nb::handle after, nb::handle value) {
        return Traced{data::pad(x.value, as_ints(before, {"pad", "before"}),
                                as_ints(after, {"pad", "after"}),
                                as_double(value, {"pad", "value"}))};
      },
      nb::arg("x"), nb::arg("before"), nb::arg("after"), nb::arg("value") = 0,
      nb::sig("def pad(x: Symbolic, before: typing.Sequence[int], after: typing.Sequence[int], "
              "value: float = 0) -> Symbolic"));
  m.def(
      "where",
      [](const Traced& condition, nb::handle a, nb::handle b) {
        const auto side = [&](nb::handle given, nb::handle other, const char* name) {
          Traced* like = nullptr;
          if (!nb::try_cast(given, like)) nb::try_cast(other, like);
          if (like == nullptr) {
            wrong_type({"where", name}, given,
                       "one of a and b must be a component, whose dtype the other takes");
          }
          return other_side(like->value, given, {"where", name});
        };
        return Traced{data::where(condition.value, side(a, b, "a"), side(b, a, "b"))};
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"),
      nb::sig("def where(condition: Symbolic, a: Symbolic | Tensor | float, b: Symbolic | Tensor | "
              "float) -> Symbolic"));
  m.def(
      "concat",
      [](nb::handle values, int axis) {
        const Traced* like = first_traced(values);
        if (like == nullptr) throw nb::next_overload();
        return Traced{
            data::concat(symbolics(values, like->value, {"concat", "one of tensors"}), axis)};
      },
      nb::arg("tensors"), nb::arg("axis") = 0,
      nb::sig("def concat(tensors: typing.Sequence[Symbolic], axis: int = 0) -> Symbolic"));
  m.def(
      "stack",
      [](nb::handle values, int axis) {
        const Traced* like = first_traced(values);
        if (like == nullptr) throw nb::next_overload();
        return Traced{
            data::stack(symbolics(values, like->value, {"stack", "one of tensors"}), axis)};
      },
      nb::arg("tensors"), nb::arg("axis") = 0,
      nb::sig("def stack(tensors: typing.Sequence[Symbolic], axis: int = 0) -> Symbolic"));
}

}  // namespace

const Symbolic* drawn_beside() { return beside_element; }

void bind_program(nb::module_& m) {
  bind_symbolic_class(m);
  bind_overloads(m);
  nb::class_<data::Program>(m, "Program",
                            "A function of elements as data: what map() made of a Python function.")
      .def_prop_ro("signature", &data::Program::signature)
      .def("__repr__", &data::Program::to_string);
  m.def("_trace", &trace, nb::arg("dataset"), nb::arg("function"), nb::arg("draws") = false,
        nb::sig("def _trace(dataset: _Dataset, function: typing.Callable[..., typing.Any], draws: "
                "bool = False) -> Program"),
        "With `draws` pm.random_normal and pm.random_uniform draw for each element.");
  m.def(
      "_map_program",
      [](const data::Dataset& set, const data::Program& program, nb::handle parallel,
         bool ordered) {
        data::MapOptions options;
        options.parallel = parallel.is_none()
                               ? data::kAutotune
                               : static_cast<int>(as_int(parallel, {"map", "parallel"}));
        options.ordered = ordered;
        return set.map(program, options);
      },
      nb::arg("set"), nb::arg("program"), nb::arg("parallel").none(), nb::arg("ordered"));
}

}  // namespace plimsoll::python
