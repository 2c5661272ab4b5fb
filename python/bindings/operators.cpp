// Arithmetic and comparisons as Python writes them.
#include "operators.h"

#include <string>

#include <plimsoll/base/text.h>
#include <plimsoll/ops/create.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/operators.h>

#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

using Two = Tensor (*)(const Tensor&, const Tensor&);
using Right = Tensor (*)(const Tensor&, const ops::Scalar&);
using Left = Tensor (*)(const ops::Scalar&, const Tensor&);

/// What an operator is for two tensors, a number on its right, and one on its left.
struct Operator {
  Two two;
  Right right;
  Left left;
};

template <Tensor (*Compare)(const Tensor&, const Tensor&)>
Tensor with_number(const Tensor& a, const ops::Scalar& b) {
  return Compare(a, ops::number_like(a, b));
}

Tensor add_left(const ops::Scalar& a, const Tensor& b) { return ops::add_number(b, a); }
Tensor mul_left(const ops::Scalar& a, const Tensor& b) { return ops::mul_number(b, a); }
Tensor plus(const Tensor& a, const Tensor& b) { return a + b; }
Tensor minus(const Tensor& a, const Tensor& b) { return a - b; }
Tensor times(const Tensor& a, const Tensor& b) { return a * b; }
Tensor by(const Tensor& a, const Tensor& b) { return a / b; }

/// As Python and NumPy divide: rounded down. The op rounds integers towards zero.
Tensor floor_by(const Tensor& a, const Tensor& b) {
  if (!is_integer(a.dtype())) return ops::floor(a / b);
  const Tensor quotient = ops::div(a, b);
  const Tensor rest = ops::sub(a, ops::mul(quotient, b));
  const Tensor rest_below = ops::less(rest, ops::number_like(rest, 0));
  const Tensor divisor_below = ops::less(b, ops::number_like(b, 0));
  const Tensor apart =
      ops::logical_and(ops::logical_or(rest_below, divisor_below),
                       ops::logical_not(ops::logical_and(rest_below, divisor_below)));
  const Tensor uneven = ops::not_equal(rest, ops::number_like(rest, 0));
  return ops::sub(quotient, ops::cast(ops::logical_and(apart, uneven), quotient.dtype()));
}
/// What floor_by leaves, with the sign of `b`.
Tensor remainder(const Tensor& a, const Tensor& b) {
  return ops::sub(a, ops::mul(floor_by(a, b), b));
}
template <Tensor (*Of)(const Tensor&, const Tensor&)>
Tensor of_number(const ops::Scalar& a, const Tensor& b) {
  return Of(ops::number_like(b, a), b);
}
Tensor product(const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }

/// What Python is told of an operand that is neither a tensor nor a number. Of arithmetic with a
/// list it would make a longer list, or say that a tensor is no integer.
nb::object not_ours(nb::handle other, bool compares) {
  if (!compares && (PyTuple_Check(other.ptr()) != 0 || PyList_Check(other.ptr()) != 0)) {
    const std::string kind = PyTuple_Check(other.ptr()) != 0 ? "tuple" : "list";
    throw nb::type_error(("[operator] one side is a " + kind + " of " +
                          counted(static_cast<std::int64_t>(length(other)), "value") +
                          "; make numbers a tensor first, pm.tensor([1.0, 2.0]), and choose one of "
                          "several results: y[0]")
                             .c_str());
  }
  if (nb::hasattr(other, "__array_interface__")) {
    wrong_type({"operator", "one side"}, other, "make it a tensor first: pm.tensor(array)");
  }
  return nb::borrow(nb::handle(Py_NotImplemented));
}

/// `name` and, where there is one, its reflection.
void binary(nb::handle cls, const char* name, const char* reflected, const Operator& what,
            const char* returns = "Tensor") {
  const auto sig = [&](const char* method) {
    return "def " + std::string(method) + "(self, other: " +
           (what.right != nullptr ? "Tensor | Variable | float" : "Tensor | Variable") +
           ", /) -> " + returns;
  };
  const bool compares = reflected == nullptr && what.right != nullptr;
  nb::cpp_function_def(
      [what, compares](nb::handle self, nb::handle other) -> nb::object {
        const auto number = what.right == nullptr ? std::nullopt : as_scalar(other);
        if (!number && !is_tensor(other)) return not_ours(other, compares);
        const Tensor a = as_tensor(self, {"operator", "the left side"});
        Tensor b;
        if (!number) b = as_tensor(other, {"operator", "the right side"});
        Tensor result;
        {
          const Unlocked unlocked;
          result = number ? what.right(a, *number) : what.two(a, b);
        }
        return nb::cast(std::move(result));
      },
      nb::scope(cls), nb::name(name), nb::is_method(), nb::is_operator(),
      nb::sig(sig(name).c_str()));
  if (reflected == nullptr) return;
  nb::cpp_function_def(
      [what](nb::handle self, nb::handle other) -> nb::object {
        const auto number = as_scalar(other);
        if (!number) return not_ours(other, false);
        const Tensor b = as_tensor(self, {"operator", "the right side"});
        Tensor result;
        {
          const Unlocked unlocked;
          result = what.left(*number, b);
        }
        return nb::cast(std::move(result));
      },
      nb::scope(cls), nb::name(reflected), nb::is_method(), nb::is_operator(),
      nb::sig(("def " + std::string(reflected) + "(self, other: float, /) -> " + returns).c_str()));
}

void unary(nb::handle cls, const char* name, Tensor (*op)(const Tensor&)) {
  nb::cpp_function_def(
      [op](nb::handle self) {
        const Tensor x = as_tensor(self, {"operator", "self"});
        const Unlocked unlocked;
        return op(x);
      },
      nb::scope(cls), nb::name(name), nb::is_method(),
      nb::sig(("def " + std::string(name) + "(self) -> Tensor").c_str()));
}

}  // namespace

void bind_operators(nb::handle cls) {
  binary(cls, "__add__", "__radd__", {plus, ops::add_number, add_left});
  binary(cls, "__sub__", "__rsub__", {minus, ops::sub_number, ops::sub_from_number});
  binary(cls, "__mul__", "__rmul__", {times, ops::mul_number, mul_left});
  binary(cls, "__truediv__", "__rtruediv__", {by, ops::div_number, ops::div_of_number});
  binary(cls, "__floordiv__", "__rfloordiv__",
         {floor_by, with_number<floor_by>, of_number<floor_by>});
  binary(cls, "__mod__", "__rmod__", {remainder, with_number<remainder>, of_number<remainder>});
  binary(cls, "__pow__", "__rpow__", {ops::pow, with_number<ops::pow>, of_number<ops::pow>});
  binary(cls, "__matmul__", nullptr, {product, nullptr, nullptr});
  binary(cls, "__eq__", nullptr, {ops::equal, with_number<ops::equal>, nullptr});
  binary(cls, "__ne__", nullptr, {ops::not_equal, with_number<ops::not_equal>, nullptr});
  binary(cls, "__lt__", nullptr, {ops::less, with_number<ops::less>, nullptr});
  binary(cls, "__le__", nullptr, {ops::less_equal, with_number<ops::less_equal>, nullptr});
  binary(cls, "__gt__", nullptr, {ops::greater, with_number<ops::greater>, nullptr});
  binary(cls, "__ge__", nullptr, {ops::greater_equal, with_number<ops::greater_equal>, nullptr});
  binary(cls, "__and__", nullptr, {ops::logical_and, nullptr, nullptr});
  binary(cls, "__or__", nullptr, {ops::logical_or, nullptr, nullptr});
  unary(cls, "__neg__", ops::neg);
  unary(cls, "__abs__", ops::abs);
  unary(cls, "__invert__", ops::logical_not);
  // NumPy then leaves `array + tensor` to the operators above.
  nb::setattr(cls, "__array_ufunc__", nb::none());
}

}  // namespace plimsoll::python
