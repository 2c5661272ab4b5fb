// Sums and their like, products, softmax.
#include <plimsoll/ops/reduce.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/ops/clip.h>
#include <plimsoll/ops/elementwise.h>
#include <plimsoll/ops/matmul.h>
#include <plimsoll/ops/softmax.h>
#include <plimsoll/ops/tape.h>

#include "bind.h"
#include "convert.h"
#include "ops.h"
#include "process.h"

namespace plimsoll::python {
namespace {

void along(nb::module_& m, const char* name, Tensor (*op)(const Tensor&, int), const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x, nb::handle axis) {
        const Tensor given = as_tensor(x, {name, "x"});
        const auto at = static_cast<int>(as_int(axis, {name, "axis"}));
        const Unlocked unlocked;
        return op(given, at);
      },
      nb::arg("x"), nb::arg("axis") = -1,
      nb::sig(("def " + std::string(name) + "(x: Tensor | Variable, axis: int = -1) -> Tensor")
                  .c_str()),
      doc);
}

/// Without those that the loss does not depend on.
std::vector<Tensor> there_are(const ops::Gradients& given) {
  std::vector<Tensor> there;
  for (const Tensor& each : given.tensors) {
    if (each.defined()) there.push_back(each);
  }
  return there;
}

nb::tuple clipped_gradients(const ops::Gradients& given, double limit) {
  const std::vector<Tensor> there = there_are(given);
  ops::ClippedByGlobalNorm clipped;
  {
    const Unlocked unlocked;
    clipped = ops::clip_by_global_norm(there, limit);
  }
  ops::Gradients result = given;
  std::size_t next = 0;
  for (Tensor& each : result.tensors) {
    if (each.defined()) each = clipped.gradients[next++];
  }
  return nb::make_tuple(nb::cast(std::move(result)), clipped.norm);
}

}  // namespace

void reduction(nb::module_& m, const char* name,
               Tensor (*op)(const Tensor&, const ops::ReduceOptions&), const char* doc) {
  m.def(
      name,
      [name, op](nb::handle x, nb::handle axis, bool keepdims) {
        const Tensor given = as_tensor(x, {name, "x"});
        const ops::ReduceOptions options{as_axes(axis, {name, "axis"}), keepdims};
        const Unlocked unlocked;
        return op(given, options);
      },
      nb::arg("x"), nb::arg("axis").none() = nb::none(), nb::kw_only(), nb::arg("keepdims") = false,
      nb::sig(
          ("def " + std::string(name) +
           "(x: Tensor | Variable, axis: int | typing.Sequence[int] | None = None, *, keepdims: "
           "bool = False) -> Tensor")
              .c_str()),
      doc);
}

void bind_reduce(nb::module_& m) {
  reduction(m, "sum", ops::sum,
            "The sum over all elements, or over an axis; of bools, how many are true.\n\n"
            ">>> pm.sum(x, axis=1)");
  reduction(m, "mean", ops::mean,
            "The mean over all elements, or over an axis; of bools, the share that is true.");
  reduction(m, "max", ops::max, "The largest of all elements, or along an axis.");
  reduction(m, "min", ops::min, "The smallest of all elements, or along an axis.");
  reduction(m, "prod", ops::prod, "The product of all elements, or along an axis.");
  reduction(m, "variance", ops::variance, "The mean of the squared distance from the mean.");
  reduction(m, "all", ops::all, "Whether all are true.");
  reduction(m, "any", ops::any, "Whether any is true.");
  along(m, "argmax", ops::argmax, "Index of the largest along an axis.");
  along(m, "softmax", ops::softmax, "exp(x) divided by its sum along an axis.");
  along(m, "log_softmax", ops::log_softmax, "The logarithm of softmax.");
  m.def(
      "top_k",
      [](nb::handle x, nb::handle k) {
        const Tensor given = as_tensor(x, {"top_k", "x"});
        const std::int64_t count = as_int(k, {"top_k", "k"});
        const Unlocked unlocked;
        return ops::top_k(given, count);
      },
      nb::arg("x"), nb::arg("k"),
      nb::sig("def top_k(x: Tensor | Variable, k: int) -> tuple[Tensor, Tensor]"),
      "The k largest along the last axis, in falling order, and their indices.");
  m.def(
      "matmul",
      [](nb::handle a, nb::handle b, bool transpose_a, bool transpose_b) {
        const Tensor left = as_tensor(a, {"matmul", "a"});
        const Tensor right = as_tensor(b, {"matmul", "b"});
        const Unlocked unlocked;
        return ops::matmul(left, right, {transpose_a, transpose_b});
      },
      nb::arg("a"), nb::arg("b"), nb::kw_only(), nb::arg("transpose_a") = false,
      nb::arg("transpose_b") = false,
      nb::sig(
          "def matmul(a: Tensor | Variable, b: Tensor | Variable, *, transpose_a: bool = False, "
          "transpose_b: bool = False) -> Tensor"),
      "Matrix products over the last two dimensions; the others broadcast. Also a @ b.");
  m.def(
      "linear",
      [](nb::handle x, nb::handle weight, nb::handle bias) {
        const Tensor given = as_tensor(x, {"linear", "x"});
        const Tensor by = as_tensor(weight, {"linear", "weight"});
        const Tensor plus = as_optional_tensor(bias, {"linear", "bias"});
        const Unlocked unlocked;
        return ops::linear(given, by, plus);
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias").none() = nb::none(),
      nb::sig("def linear(x: Tensor | Variable, weight: Tensor | Variable, bias: Tensor | Variable "
              "| None = None) -> Tensor"),
      "x [..., in] times the transpose of weight [out, in], plus bias [out].");
  m.def(
      "global_norm",
      [](nb::handle tensors) {
        ops::Gradients* gradients = nullptr;
        const bool is_gradients = nb::try_cast(tensors, gradients) && gradients != nullptr;
        const std::vector<Tensor> all =
            is_gradients ? there_are(*gradients) : as_tensors(tensors, {"global_norm", "tensors"});
        const Unlocked unlocked;
        return ops::global_norm(all);
      },
      nb::arg("tensors"),
      nb::sig("def global_norm(tensors: Gradients | typing.Sequence[Tensor | Variable]) -> Tensor"),
      "The square root of the sum of the squares of all elements of tensors or gradients.");
  m.def(
      "clip_by_norm",
      [](nb::handle x, nb::handle limit) {
        const Tensor given = as_tensor(x, {"clip_by_norm", "x"});
        const double most = as_double(limit, {"clip_by_norm", "limit"});
        const Unlocked unlocked;
        return ops::clip_by_norm(given, most);
      },
      nb::arg("x"), nb::arg("limit"),
      nb::sig("def clip_by_norm(x: Tensor | Variable, limit: float) -> Tensor"),
      "`x` scaled down to a Euclidean norm of `limit` where it is larger.");
  m.def(
      "clip_by_global_norm",
      [](nb::handle tensors, nb::handle limit) -> nb::tuple {
        ops::Gradients* gradients = nullptr;
        if (nb::try_cast(tensors, gradients) && gradients != nullptr) {
          return clipped_gradients(*gradients, as_double(limit, {"clip_by_global_norm", "limit"}));
        }
        const std::vector<Tensor> all = as_tensors(tensors, {"clip_by_global_norm", "tensors"});
        const double most = as_double(limit, {"clip_by_global_norm", "limit"});
        ops::ClippedByGlobalNorm clipped;
        {
          const Unlocked unlocked;
          clipped = ops::clip_by_global_norm(all, most);
        }
        return nb::make_tuple(nb::cast(clipped.gradients), clipped.norm);
      },
      nb::arg("tensors"), nb::arg("limit"),
      nb::sig("def clip_by_global_norm(tensors: typing.Sequence[Tensor | Variable] | Gradients, "
              "limit: float) -> tuple[typing.Any, Tensor]"),
      "All scaled by one factor, so that their global norm is at most `limit`; and that norm "
      "before. Of Gradients it gives Gradients, for Optimizer.apply.\n\n"
      ">>> gradients, norm = pm.clip_by_global_norm(tape.gradient(loss, net), 1.0)");
}

}  // namespace plimsoll::python
