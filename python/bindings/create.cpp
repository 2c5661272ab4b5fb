// Tensors from nothing.
#include <plimsoll/ops/create.h>

#include <string>

#include <plimsoll/data/program_ops.h>
#include <plimsoll/ops/random.h>

#include "bind.h"
#include "convert.h"
#include "process.h"
#include "symbolic.h"
#include "values.h"

namespace plimsoll::python {
namespace {

#define PLIMSOLL_CREATE_ARGS \
  nb::kw_only(), nb::arg("dtype") = DType::f32, nb::arg("device").none() = nb::none()

/// "def zeros(shape: ..., *, dtype: ..., device: ...) -> Tensor"
std::string sig(const char* name, const char* arguments) {
  return "def " + std::string(name) + "(" + arguments +
         ", *, dtype: DType | str = 'f32', device: Device | Session | str | None = None) -> "
         "Tensor";
}

CreateOptions options(const char* who, nb::handle dtype, nb::handle device) {
  return {as_dtype(dtype, {who, "dtype"}), as_device(device, {who, "device"})};
}

ops::Scalar scalar(nb::handle value, Where where) {
  if (const auto number = as_scalar(value)) return *number;
  wrong_type(where, value, "it must be a number");
}

constexpr const char* kShape = "shape: int | typing.Sequence[int]";

void filled(nb::module_& m, const char* name, Tensor (*make)(const Shape&, const CreateOptions&),
            const char* doc) {
  m.def(
      name,
      [name, make](nb::handle shape, nb::handle dtype, nb::handle device) {
        const Shape dims = as_shape(shape, {name, "shape"});
        const CreateOptions how = options(name, dtype, device);
        const Unlocked unlocked;
        return make(dims, how);
      },
      nb::arg("shape"), PLIMSOLL_CREATE_ARGS, nb::sig(sig(name, kShape).c_str()), doc);
}

/// In a function that map() traces: numbers that are drawn for each element.
nb::object drawn_for_elements(const data::Symbolic& beside, const char* name, const Shape& shape,
                              double first, double second, nb::handle dtype) {
  const bool normal = std::string(name) == "random_normal";
  ops::Attributes how;
  how.set("shape", std::vector<std::int64_t>(shape.begin(), shape.end()));
  how.set(normal ? "mean" : "low", first);
  how.set(normal ? "deviation" : "high", second);
  if (!normal) how.set("dtype", DType::f32);
  const data::Symbolic made =
      data::call_like(beside, normal ? "draw_normal" : "draw_uniform", {}, how).front();
  const DType wanted = as_dtype(dtype, {name, "dtype"});
  return nb::cast(Traced{wanted == DType::f32 ? made : data::cast(made, wanted)});
}

void drawn(nb::module_& m, const char* name, const char* first, double first_default,
           const char* second, Tensor (*draw)(const Shape&, double, double, const CreateOptions&),
           const std::string& signature, const char* doc) {
  m.def(
      name,
      [=](nb::handle shape, nb::handle a, nb::handle b, nb::handle dtype,
          nb::handle device) -> nb::object {
        const Shape dims = as_shape(shape, {name, "shape"});
        const double low = as_double(a, {name, first});
        const double high = as_double(b, {name, second});
        if (const data::Symbolic* beside = drawn_beside()) {
          return drawn_for_elements(*beside, name, dims, low, high, dtype);
        }
        const CreateOptions how = options(name, dtype, device);
        Tensor result;
        {
          const Unlocked unlocked;
          result = draw(dims, low, high, how);
        }
        return nb::cast(std::move(result));
      },
      nb::arg("shape"), nb::arg(first) = first_default, nb::arg(second) = 1.0, PLIMSOLL_CREATE_ARGS,
      nb::sig(signature.c_str()), doc);
}

void like(nb::module_& m, const char* name, Tensor (*make)(const Tensor&), const char* doc) {
  m.def(
      name,
      [name, make](nb::handle x) {
        const Tensor given = as_tensor(x, {name, "x"});
        const Unlocked unlocked;
        return make(given);
      },
      nb::arg("x"),
      nb::sig(("def " + std::string(name) + "(x: Tensor | Variable) -> Tensor").c_str()), doc);
}

}  // namespace

void bind_create(nb::module_& m) {
  filled(m, "zeros", zeros, "Zeros.\n\n>>> pm.zeros((2, 3))");
  filled(m, "ones", ones, "Ones.\n\n>>> pm.ones((2, 3), dtype=pm.i64)");
  like(m, "zeros_like", ops::zeros_like, "Zeros with the shape and dtype of `x`.");
  like(m, "ones_like", ops::ones_like, "Ones with the shape and dtype of `x`.");
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
        const Shape dims = as_shape(shape, {"full", "shape"});
        const ops::Scalar number = scalar(value, {"full", "value"});
        const CreateOptions how = options("full", dtype, device);
        if (!ops::has_number(how.dtype, number)) {
          wrong_value({"full", "value"}, value,
                      ("it does not fit " + std::string(dtype_name(how.dtype)) +
                       "; give another dtype, dtype=pm.f32, or a number that it has")
                          .c_str());
        }
        const Unlocked unlocked;
        return full(dims, number, how);
      },
      nb::arg("shape"), nb::arg("value"), PLIMSOLL_CREATE_ARGS,
      nb::sig(sig("full", "shape: int | typing.Sequence[int], value: float").c_str()),
      "`value` in every element.\n\n>>> pm.full((2, 3), 0.5)");
  m.def(
      "arange",
      [](nb::handle start, nb::handle end, nb::handle step, nb::handle dtype, nb::handle device) {
        const bool one = end.is_none();
        const ops::Scalar first = one ? ops::Scalar(0) : scalar(start, {"arange", "start"});
        const ops::Scalar last = scalar(one ? start : end, {"arange", one ? "start" : "end"});
        const ops::Scalar by = scalar(step, {"arange", "step"});
        const auto integral = [](nb::handle each) {
          return each.is_none() || PyLong_Check(each.ptr()) != 0;
        };
        const nb::object type =
            dtype.is_none()
                ? nb::cast(integral(start) && integral(end) && integral(step) ? DType::i64
                                                                              : DType::f32)
                : nb::borrow(dtype);
        const CreateOptions how = options("arange", type, device);
        const Unlocked unlocked;
        return arange(first, last, by, how);
      },
      nb::arg("start"), nb::arg("end").none() = nb::none(), nb::arg("step") = 1, nb::kw_only(),
      nb::arg("dtype").none() = nb::none(), nb::arg("device").none() = nb::none(),
      nb::sig("def arange(start: float, end: float | None = None, step: float = 1, *, dtype: DType "
              "| str | None = None, device: Device | Session | str | None = None) -> Tensor"),
      "start, start + step, ... before end; of one number 0, 1, ... before it. i64 of integers, "
      "else f32.\n\n>>> pm.arange(4)");
  m.def(
      "linspace",
      [](nb::handle start, nb::handle end, nb::handle count, nb::handle dtype, nb::handle device) {
        return linspace(as_double(start, {"linspace", "start"}),
                        as_double(end, {"linspace", "end"}), as_int(count, {"linspace", "count"}),
                        options("linspace", dtype, device));
      },
      nb::arg("start"), nb::arg("end"), nb::arg("count"), PLIMSOLL_CREATE_ARGS,
      nb::sig(sig("linspace", "start: float, end: float, count: int").c_str()),
      "`count` numbers from `start` to `end`, both included.");
  m.def(
      "eye",
      [](nb::handle size, nb::handle dtype, nb::handle device) {
        return eye(as_int(size, {"eye", "size"}), options("eye", dtype, device));
      },
      nb::arg("size"), PLIMSOLL_CREATE_ARGS, nb::sig(sig("eye", "size: int").c_str()),
      "Ones on the diagonal of a square matrix.");
  drawn(m, "random_uniform", "low", 0.0, "high", random_uniform,
        sig("random_uniform", "shape: int | typing.Sequence[int], low: float = 0, high: float = 1"),
        "Numbers drawn evenly from [low, high); see pm.set_seed. In a function that map() traces "
        "they "
        "are drawn for each element, from the pipeline's seed.");
  drawn(m, "random_normal", "mean", 0.0, "deviation", random_normal,
        sig("random_normal",
            "shape: int | typing.Sequence[int], mean: float = 0, deviation: float = 1"),
        "Normally distributed numbers; see pm.set_seed. In a function that map() traces they are "
        "drawn "
        "for each element, from the pipeline's seed.");
  m.def(
      "tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device) {
        std::optional<DType> type;
        if (!dtype.is_none()) type = as_dtype(dtype, {"tensor", "dtype"});
        return make_tensor(data, type, as_device(device, {"tensor", "device"}));
      },
      nb::arg("data"), nb::kw_only(), nb::arg("dtype").none() = nb::none(),
      nb::arg("device").none() = nb::none(),
      nb::sig("def tensor(data: typing.Any, *, dtype: DType | str | None = None, device: Device | "
              "Session | str | None = None) -> Tensor"),
      "A copy of numbers, lists, byte strings or an array. Without a dtype integers are i64 and "
      "floats f32; arrays keep theirs.\n\n>>> pm.tensor([[1, 2], [3, 4]], dtype=pm.f32)");
}

}  // namespace plimsoll::python
