// The rules of optimizers as ops that write, for optimizers that are written in Python.
#include <plimsoll/ops/update.h>

#include <plimsoll/ops/variable.h>

#include "bind.h"
#include "convert.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// The tensor of a variable, which is read now: a trace binds it, and it gets data where it has
/// none.
Tensor state(nb::handle value, Where where) {
  if (value.is_none()) return {};
  Variable* variable = nullptr;
  if (!nb::try_cast(value, variable) || variable == nullptr) {
    wrong_type(where, value, "it must be a Variable, which is written");
  }
  return variable->value();
}

}  // namespace

void bind_updates(nb::module_& m) {
  m.def(
      "_sgd_update",
      [](nb::handle parameter, nb::handle velocity, nb::handle gradient, nb::handle rate,
         double momentum, bool nesterov) {
        const Tensor p = state(parameter, {"sgd_update", "parameter"});
        const Tensor v = state(velocity, {"sgd_update", "velocity"});
        const Tensor g = as_tensor(gradient, {"sgd_update", "gradient"});
        const Tensor lr = as_tensor(rate, {"sgd_update", "rate"});
        const Unlocked unlocked;
        ops::sgd_update(p, v, g, lr, {momentum, nesterov, 0});
      },
      nb::arg("parameter"), nb::arg("velocity").none(), nb::arg("gradient"), nb::arg("rate"),
      nb::arg("momentum"), nb::arg("nesterov"),
      nb::sig("def _sgd_update(parameter: Variable, velocity: Variable | None, gradient: Tensor, "
              "rate: Tensor, momentum: float, nesterov: bool) -> None"));
  m.def(
      "_adam_update",
      [](nb::handle parameter, nb::handle first, nb::handle second, nb::handle gradient,
         nb::handle rate, nb::handle step, double beta1, double beta2, double epsilon) {
        const Tensor p = state(parameter, {"adam_update", "parameter"});
        const Tensor a = state(first, {"adam_update", "first"});
        const Tensor b = state(second, {"adam_update", "second"});
        const Tensor g = as_tensor(gradient, {"adam_update", "gradient"});
        const Tensor lr = as_tensor(rate, {"adam_update", "rate"});
        const Tensor count = as_tensor(step, {"adam_update", "step"});
        const Unlocked unlocked;
        ops::adam_update(p, a, b, g, lr, count, {beta1, beta2, epsilon, 0, false});
      },
      nb::arg("parameter"), nb::arg("first"), nb::arg("second"), nb::arg("gradient"),
      nb::arg("rate"), nb::arg("step"), nb::arg("beta1"), nb::arg("beta2"), nb::arg("epsilon"),
      nb::sig("def _adam_update(parameter: Variable, first: Variable, second: Variable, gradient: "
              "Tensor, rate: Tensor, step: Tensor, beta1: float, beta2: float, epsilon: float) -> "
              "None"));
  m.def(
      "_rmsprop_update",
      [](nb::handle parameter, nb::handle mean_square, nb::handle velocity, nb::handle gradient,
         nb::handle rate, double decay, double epsilon, double momentum) {
        const Tensor p = state(parameter, {"rmsprop_update", "parameter"});
        const Tensor s = state(mean_square, {"rmsprop_update", "mean_square"});
        const Tensor v = state(velocity, {"rmsprop_update", "velocity"});
        const Tensor g = as_tensor(gradient, {"rmsprop_update", "gradient"});
        const Tensor lr = as_tensor(rate, {"rmsprop_update", "rate"});
        const Unlocked unlocked;
        ops::rmsprop_update(p, s, v, g, lr, {decay, epsilon, momentum, 0});
      },
      nb::arg("parameter"), nb::arg("mean_square"), nb::arg("velocity").none(), nb::arg("gradient"),
      nb::arg("rate"), nb::arg("decay"), nb::arg("epsilon"), nb::arg("momentum"),
      nb::sig(
          "def _rmsprop_update(parameter: Variable, mean_square: Variable, velocity: Variable | "
          "None, gradient: Tensor, rate: Tensor, decay: float, epsilon: float, momentum: float) "
          "-> None"));
}

}  // namespace plimsoll::python
