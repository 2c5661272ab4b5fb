// Ops element by element, and how simple ops are bound.
#include <plimsoll/ops/elementwise.h>

#include <nanobind/stl/string.h>

#include <plimsoll/data/program_ops.h>
#include <plimsoll/ops/operators.h>

#include "bind.h"
#include "convert.h"
#include "ops.h"
#include "process.h"
#include "symbolic.h"

namespace plimsoll::python {
namespace {

Tensor leaky_relu(const Tensor& x, double slope) { return ops::leaky_relu(x, slope); }
Tensor elu(const Tensor& x, double alpha) { return ops::elu(x, alpha); }

}  // namespace

void unary(nb::module_& m, const char* name, Tensor (*op)(const Tensor&), const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x) -> nb::object {
        Traced* traced = nullptr;
        if (nb::try_cast(x, traced) && traced != nullptr) {
          const std::vector<data::Symbolic> inputs = {traced->value};
          return nb::cast(Traced{data::call_like(traced->value, name, inputs).front()});
        }
        const Tensor given = as_tensor(x, {name, "x"});
        Tensor result;
        {
          const Unlocked unlocked;
          result = op(given);
        }
        return nb::cast(std::move(result));
      },
      nb::arg("x"),
      nb::sig(("def " + std::string(name) + "(x: Tensor | Variable) -> Tensor").c_str()), doc);
}

void unary_with(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, double),
                const char* number, double by_default, const char* doc) {
  m.def(
      name,
      [=](nb::handle x, nb::handle with) {
        const Tensor given = as_tensor(x, {name, "x"});
        const double value = as_double(with, {name, number});
        const Unlocked unlocked;
        return op(given, value);
      },
      nb::arg("x"), nb::arg(number) = by_default,
      nb::sig(("def " + std::string(name) + "(x: Tensor | Variable, " + number +
               ": float = ...) -> Tensor")
                  .c_str()),
      doc);
}

void binary(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, const Tensor&),
            const char* doc) {
  m.def(
      name,
      [name, op](nb::handle a, nb::handle b) {
        Tensor left;
        Tensor right;
        const auto left_number = is_tensor(b) ? as_scalar(a) : std::nullopt;
        const auto right_number = is_tensor(a) ? as_scalar(b) : std::nullopt;
        if (!left_number) left = as_tensor(a, {name, "a"});
        if (!right_number) right = as_tensor(b, {name, "b"});
        const Unlocked unlocked;
        if (left_number) left = ops::number_like(right, *left_number);
        if (right_number) right = ops::number_like(left, *right_number);
        return op(left, right);
      },
      nb::arg("a"), nb::arg("b"),
      nb::sig(("def " + std::string(name) +
               "(a: Tensor | Variable | float, b: Tensor | Variable | float) -> Tensor")
                  .c_str()),
      doc);
}

void bind_elementwise(nb::module_& m) {
  binary(m, "add", ops::add, "a + b, broadcast as NumPy does.");
  binary(m, "sub", ops::sub, "a - b");
  binary(m, "mul", ops::mul, "a * b, element by element.");
  binary(m, "div", ops::div, "a / b; integers are divided towards zero.");
  binary(m, "maximum", ops::maximum, "The larger of a and b, element by element.");
  binary(m, "minimum", ops::minimum, "The smaller of a and b, element by element.");
  binary(m, "pow", ops::pow, "a to the power of b.");
  binary(m, "equal", ops::equal, "a == b, as bool.");
  binary(m, "not_equal", ops::not_equal, "a != b, as bool.");
  binary(m, "less", ops::less, "a < b, as bool.");
  binary(m, "less_equal", ops::less_equal, "a <= b, as bool.");
  binary(m, "greater", ops::greater, "a > b, as bool.");
  binary(m, "greater_equal", ops::greater_equal, "a >= b, as bool.");
  binary(m, "logical_and", ops::logical_and, "a and b, of bool tensors.");
  binary(m, "logical_or", ops::logical_or, "a or b, of bool tensors.");
  unary(m, "logical_not", ops::logical_not, "not x, of a bool tensor.");
  unary(m, "is_finite", ops::is_finite, "Neither NaN nor infinite, as bool.");
  unary(m, "neg", ops::neg, "-x");
  unary(m, "abs", ops::abs, "|x|");
  unary(m, "sign", ops::sign, "-1, 0 or 1.");
  unary(m, "square", ops::square, "x * x");
  unary(m, "sqrt", ops::sqrt, "The square root.");
  unary(m, "rsqrt", ops::rsqrt, "1 / sqrt(x)");
  unary(m, "reciprocal", ops::reciprocal, "1 / x");
  unary(m, "exp", ops::exp, "e to the power of x.");
  unary(m, "log", ops::log, "The natural logarithm.");
  unary(m, "log1p", ops::log1p, "log(1 + x), exact near 0.");
  unary(m, "sin", ops::sin, "The sine.");
  unary(m, "cos", ops::cos, "The cosine.");
  unary(m, "erf", ops::erf, "The error function.");
  unary(m, "floor", ops::floor, "Rounded down.");
  unary(m, "round", ops::round, "Rounded; halves to even.");
  unary(m, "relu", ops::relu,
        "max(x, 0)\n\n>>> pm.relu(pm.tensor([-1.0, 2.0])).tolist()\n[0.0, 2.0]");
  unary_with(m, "leaky_relu", leaky_relu, "slope", 0.01, "x where it is positive, else slope * x.");
  unary_with(m, "elu", elu, "alpha", 1.0, "x where it is positive, else alpha * (exp(x) - 1).");
  unary(m, "sigmoid", ops::sigmoid, "1 / (1 + exp(-x))");
  unary(m, "tanh", ops::tanh, "The hyperbolic tangent.");
  unary(m, "silu", ops::silu, "x * sigmoid(x)");
  unary(m, "softplus", ops::softplus, "log(1 + exp(x))");
  unary(m, "stop_gradient", ops::stop_gradient,
        "The same values, through which no gradient flows.");
  unary_with(m, "scale", ops::scale, "factor", 1.0, "x * factor, in x's dtype.");
  unary_with(m, "shift", ops::shift, "offset", 0.0, "x + offset, in x's dtype.");
  m.def(
      "gelu",
      [](nb::handle x, bool approximate) {
        const Tensor given = as_tensor(x, {"gelu", "x"});
        const Unlocked unlocked;
        return ops::gelu(given, approximate ? ops::Gelu::tanh : ops::Gelu::exact);
      },
      nb::arg("x"), nb::kw_only(), nb::arg("approximate") = false,
      nb::sig("def gelu(x: Tensor | Variable, *, approximate: bool = False) -> Tensor"),
      "x times the normal distribution's share below x; `approximate` takes tanh for it.");
  m.def(
      "clip",
      [](nb::handle x, nb::handle low, nb::handle high) {
        const Tensor given = as_tensor(x, {"clip", "x"});
        const auto bound = [](nb::handle number, Where where) {
          const auto exact = as_scalar(number);
          return exact ? *exact : ops::Scalar(as_double(number, where));
        };
        const ops::Scalar from = bound(low, {"clip", "low"});
        const ops::Scalar to = bound(high, {"clip", "high"});
        const Unlocked unlocked;
        return ops::clip(given, from, to);
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"),
      nb::sig("def clip(x: Tensor | Variable, low: float, high: float) -> Tensor"),
      "Limits values to [low, high].");
  m.def(
      "cast",
      [](nb::handle x, nb::handle dtype) {
        const Tensor given = as_tensor(x, {"cast", "x"});
        const DType type = as_dtype(dtype, {"cast", "dtype"});
        const Unlocked unlocked;
        return ops::cast(given, type);
      },
      nb::arg("x"), nb::arg("dtype"),
      nb::sig("def cast(x: Tensor | Variable, dtype: DType | str) -> Tensor"),
      "The values in another dtype.");
  m.def(
      "where",
      [](nb::handle condition, nb::handle a, nb::handle b) {
        const Tensor which = as_tensor(condition, {"where", "condition"});
        Tensor left;
        Tensor right;
        const auto left_number = as_scalar(a);
        const auto right_number = as_scalar(b);
        if (!left_number) left = as_tensor(a, {"where", "a"});
        if (!right_number) right = as_tensor(b, {"where", "b"});
        if (left_number && right_number) {
          wrong_type({"where", "b"}, b,
                     "one of a and b must be a tensor, whose dtype the other takes");
        }
        const Unlocked unlocked;
        if (left_number) left = ops::number_like(right, *left_number);
        if (right_number) right = ops::number_like(left, *right_number);
        return ops::where(which, left, right);
      },
      nb::arg("condition"), nb::arg("a"), nb::arg("b"),
      nb::sig("def where(condition: Tensor | Variable, a: Tensor | Variable | float, "
              "b: Tensor | Variable | float) -> Tensor"),
      "`a` where `condition` holds, else `b`; all broadcast.");
}

}  // namespace plimsoll::python
