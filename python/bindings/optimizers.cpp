// Optimizers beyond sgd, adam and rmsprop, parameter groups, and averages of weights.
#include <plimsoll/optim/adaptive.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/nn/module.h>
#include <plimsoll/optim/weight_average.h>

#include "bind_parts.h"
#include "given.h"
#include "nn_module.h"
#include "optim.h"

namespace plimsoll::python {
namespace {

#define PLIMSOLL_GROUPS \
  "weight_decay: float = 0.0, groups: typing.Sequence[Group] = (), decay_vectors: bool = True"

optim::Schedule rate(const Given& given) {
  return as_schedule(given.value("lr"), given.where("lr"));
}

std::vector<optim::Group> groups(const Given& given) {
  return as_groups(given.value("groups"), given.flag("decay_vectors"), given.where("groups"));
}

std::vector<Variable> variables_of(nb::handle value, Where where) {
  if (nb::isinstance<nn::Module>(value)) return as_module(value, where)->trainable_variables();
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0) {
    wrong_type(where, value, "it must be a module, or a list of variables");
  }
  std::vector<Variable> variables;
  for (nb::handle each : value) {
    Variable* variable = nullptr;
    if (!nb::try_cast(each, variable) || variable == nullptr) {
      wrong_type(where, each, "it must be a variable, such as a parameter of a module");
    }
    variables.push_back(*variable);
  }
  return variables;
}

void bind_rules(nb::module_& m) {
  define(m, "adagrad",
         "lr: float | Schedule = 0.01, *, lr_decay: float = 0.0, initial_accumulator: float = 0.0, "
         "epsilon: float = 1e-10, " PLIMSOLL_GROUPS,
         "Optimizer",
         "Duchi et al. 2011: gradients divided by the root of the sum of their squares so far.",
         [](const Given& given) {
           return nb::cast(optim::adagrad(
               {rate(given), given.number("lr_decay"), given.number("initial_accumulator"),
                given.number("epsilon"), given.number("weight_decay"), groups(given)}));
         });
  define(m, "lazy_adam",
         "lr: float | Schedule = 0.001, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: "
         "float = 1e-08, groups: typing.Sequence[Group] = ()",
         "Optimizer",
         "Adam in which rows of a matrix whose gradient is 0 keep their value and moments.",
         [](const Given& given) {
           return nb::cast(optim::lazy_adam(
               {rate(given), given.number("beta1"), given.number("beta2"), given.number("epsilon"),
                as_groups(given.value("groups"), true, given.where("groups"))}));
         });
  define(
      m, "adadelta",
      "lr: float | Schedule = 1.0, *, rho: float = 0.9, epsilon: float = 1e-06, " PLIMSOLL_GROUPS,
      "Optimizer", "Zeiler 2012.", [](const Given& given) {
        return nb::cast(optim::adadelta({rate(given), given.number("rho"), given.number("epsilon"),
                                         given.number("weight_decay"), groups(given)}));
      });
  define(
      m, "nadam",
      "lr: float | Schedule = 0.002, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float "
      "= 1e-08, momentum_decay: float = 0.004, " PLIMSOLL_GROUPS,
      "Optimizer", "Dozat 2016: Adam with Nesterov's momentum.", [](const Given& given) {
        return nb::cast(optim::nadam({rate(given), given.number("beta1"), given.number("beta2"),
                                      given.number("epsilon"), given.number("momentum_decay"),
                                      given.number("weight_decay"), groups(given)}));
      });
  define(
      m, "lion",
      "lr: float | Schedule = 0.0001, *, beta1: float = 0.9, beta2: float = 0.99, " PLIMSOLL_GROUPS,
      "Optimizer",
      "Chen et al. 2023: steps of one size in the direction of the sign. Half of Adam's state.",
      [](const Given& given) {
        return nb::cast(optim::lion({rate(given), given.number("beta1"), given.number("beta2"),
                                     given.number("weight_decay"), groups(given)}));
      });
  define(
      m, "lamb",
      "lr: float | Schedule = 0.001, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float "
      "= 1e-06, " PLIMSOLL_GROUPS,
      "Optimizer", "You et al. 2019: Adam's step, as long as the parameter it changes.",
      [](const Given& given) {
        return nb::cast(
            optim::lamb({rate(given), given.number("beta1"), given.number("beta2"),
                         given.number("epsilon"), given.number("weight_decay"), groups(given)}));
      });
  define(m, "adafactor",
         "lr: float | Schedule = 0.01, *, beta2_decay: float = -0.8, epsilon: float = "
         "1.1920929e-07, least_scale: float = 0.001, clip: float = 1.0, " PLIMSOLL_GROUPS,
         "Optimizer", "Shazeer and Stern 2018: of a matrix only two vectors of state are kept.",
         [](const Given& given) {
           return nb::cast(
               optim::adafactor({rate(given), given.number("beta2_decay"), given.number("epsilon"),
                                 given.number("least_scale"), given.number("clip"),
                                 given.number("weight_decay"), groups(given)}));
         });
  define(
      m, "adamw_8bit",
      "lr: float | Schedule = 0.001, *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float "
      "= 1e-08, weight_decay: float = 0.01, groups: typing.Sequence[Group] = (), decay_vectors: "
      "bool = True",
      "Optimizer",
      "AdamW whose moments are kept in 8 bits each (Dettmers et al. 2021): about a quarter of "
      "adamw()'s state. Parameters of fewer than 4096 elements keep f32 moments.\n\n"
      ">>> pm.optim.adamw_8bit(1e-3)",
      [](const Given& given) {
        return nb::cast(optim::adamw_8bit({rate(given), given.number("beta1"),
                                           given.number("beta2"), given.number("epsilon"),
                                           given.number("weight_decay"), groups(given)}));
      });
}

}  // namespace

void bind_optimizers(nb::module_& m) {
  bind_rules(m);
  nb::class_<optim::WeightAverage>(
      m, "WeightAverage",
      "An average of variables over steps, for loops of your own: exponential with a `decay`, "
      "else all updates count alike.\n\n"
      ">>> average = pm.optim.WeightAverage(net, decay=0.999)\n"
      ">>> average.update()      # after each step\n"
      ">>> average.swap()        # net has the average, and the average the weights")
      .def(
          "__init__",
          [](optim::WeightAverage* self, nb::handle of, nb::handle decay) {
            const std::vector<Variable> variables = variables_of(of, {"WeightAverage", "of"});
            optim::WeightAverageOptions options;
            if (!decay.is_none()) options.decay = as_double(decay, {"WeightAverage", "decay"});
            new (self) optim::WeightAverage(std::span<const Variable>(variables), options);
          },
          nb::arg("of"), nb::kw_only(), nb::arg("decay").none() = nb::none(),
          nb::sig("def __init__(self, of: Module | typing.Sequence[Variable], *, decay: float | "
                  "None = None) -> None"))
      .def("update", &optim::WeightAverage::update, nb::call_guard<Unlocked>(),
           "Counts what the variables hold now.")
      .def_prop_ro("updates", &optim::WeightAverage::updates)
      .def("swap", &optim::WeightAverage::swap, nb::call_guard<Unlocked>(),
           "Swaps the variables' values and the averages; call it again to swap them back.")
      .def_prop_ro("averages", &optim::WeightAverage::averages, "One for each variable.");
}

}  // namespace plimsoll::python
