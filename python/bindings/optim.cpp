// Optimizers and schedules.
#include <plimsoll/optim/optimizer.h>

#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/nn/module.h>
#include <plimsoll/optim/adaptive.h>

#include "bind.h"
#include "convert.h"
#include "optim.h"
#include "process.h"

namespace plimsoll::python {
namespace {

constexpr const char* kRate = "lr: float | Schedule";

std::string sig(const char* name, const char* rate, const char* rest) {
  return "def " + std::string(name) + "(" + kRate + " = " + rate + ", *, " + rest +
         ", groups: typing.Sequence[Group] = (), decay_vectors: bool = True) -> Optimizer";
}

using Adam = optim::Optimizer (*)(const optim::AdamOptions&);
void adam(nb::module_& m, const char* name, Adam make, double decay, const char* rest,
          const char* doc) {
  m.def(
      name,
      [name, make](nb::handle lr, nb::handle beta1, nb::handle beta2, nb::handle epsilon,
                   nb::handle weight_decay, nb::handle groups, bool decay_vectors) {
        return make({as_schedule(lr, {name, "lr"}), as_double(beta1, {name, "beta1"}),
                     as_double(beta2, {name, "beta2"}), as_double(epsilon, {name, "epsilon"}),
                     as_double(weight_decay, {name, "weight_decay"}),
                     as_groups(groups, decay_vectors, {name, "groups"})});
      },
      nb::arg("lr") = 0.001, nb::kw_only(), nb::arg("beta1") = 0.9, nb::arg("beta2") = 0.999,
      nb::arg("epsilon") = 1e-8, nb::arg("weight_decay") = decay,
      nb::arg("groups") = nb::make_tuple(), nb::arg("decay_vectors") = true,
      nb::sig(sig(name, "0.001", rest).c_str()), doc);
}

}  // namespace

optim::Schedule as_schedule(nb::handle value, Where where) {
  optim::Schedule* schedule = nullptr;
  if (nb::try_cast(value, schedule) && schedule != nullptr) return *schedule;
  if (const auto rate = as_number(value)) return *rate;
  if (PyList_Check(value.ptr()) != 0 || nb::hasattr(value, "__next__")) {
    wrong_type(where, value,
               "it must be a number: parameters come later, with a module that is given to "
               "pm.Trainer, or with optimizer.apply(tape.gradient(loss, net))");
  }
  wrong_type(where, value,
             "it must be a number, or a schedule such as pm.optim.Schedule.cosine(0.1, 10_000)");
}

std::vector<optim::Group> as_groups(nb::handle groups, bool decay_vectors, Where where) {
  std::vector<optim::Group> all;
  if (PyList_Check(groups.ptr()) == 0 && PyTuple_Check(groups.ptr()) == 0) {
    wrong_type(where, groups, "it must be a list of pm.optim.Group(...)");
  }
  for (nb::handle each : groups) {
    optim::Group* group = nullptr;
    if (!nb::try_cast(each, group) || group == nullptr) {
      wrong_type(where, each, "it must be a list of pm.optim.Group(...)");
    }
    all.push_back(*group);
  }
  if (!decay_vectors) all.push_back(optim::no_decay_for_vectors());
  return all;
}

optim::Optimizer as_optimizer(nb::handle value, Where where) {
  optim::Optimizer* optimizer = nullptr;
  if (nb::try_cast(value, optimizer) && optimizer != nullptr) return *optimizer;
  if (PyUnicode_Check(value.ptr()) != 0) {
    const std::string name = as_text(value, where);
    if (name == "adamw") return optim::adamw();
    if (name == "adam") return optim::adam();
    if (name == "sgd") return optim::sgd();
    if (name == "rmsprop") return optim::rmsprop();
    if (name == "adagrad") return optim::adagrad();
    if (name == "adadelta") return optim::adadelta();
    if (name == "nadam") return optim::nadam();
    if (name == "lion") return optim::lion();
    if (name == "lamb") return optim::lamb();
    if (name == "adafactor") return optim::adafactor();
    if (name == "adamw_8bit") return optim::adamw_8bit();
    wrong_value(where, value,
                "there are \"adamw\", \"adam\", \"sgd\", \"rmsprop\", \"adagrad\", \"adadelta\", "
                "\"nadam\", \"lion\", \"lamb\", \"adafactor\" and \"adamw_8bit\"");
  }
  wrong_type(where, value, "it must be an optimizer: pm.optim.adamw(1e-3)");
}

void bind_optim(nb::module_& m) {
  nb::class_<optim::Schedule>(m, "Schedule", "The learning rate as a function of the step.")
      .def(
          "__init__",
          [](optim::Schedule* self, nb::handle rate) {
            new (self) optim::Schedule(as_double(rate, {"Schedule", "rate"}));
          },
          nb::arg("rate"), nb::sig("def __init__(self, rate: float) -> None"))
      .def_static("step", &optim::Schedule::step, nb::arg("rate"), nb::arg("every"),
                  nb::arg("factor") = 0.1, "Multiplied by `factor` every `every` steps.")
      .def_static("cosine", &optim::Schedule::cosine, nb::arg("rate"), nb::arg("steps"),
                  nb::arg("last") = 0.0, "From `rate` to `last` along half a cosine over `steps`.")
      .def_static("warm_restarts", &optim::Schedule::warm_restarts, nb::arg("rate"),
                  nb::arg("steps"), nb::arg("factor") = 1.0, nb::arg("last") = 0.0,
                  "cosine() again and again, each time over `factor` times as many steps.")
      .def_static("polynomial", &optim::Schedule::polynomial, nb::arg("rate"), nb::arg("steps"),
                  nb::arg("last") = 0.0, nb::arg("power") = 1.0,
                  "last + (rate - last) (1 - step / steps)^power; power 1 is a line.")
      .def_static("exponential", &optim::Schedule::exponential, nb::arg("rate"), nb::arg("factor"),
                  nb::arg("steps") = 1,
                  "Multiplied by `factor` over every `steps` steps, a little in each.")
      .def_static("piecewise", &optim::Schedule::piecewise, nb::arg("boundaries"), nb::arg("rates"),
                  "rates[i] before step boundaries[i], the last one from then on.\n\n"
                  ">>> pm.optim.Schedule.piecewise([1000, 2000], [0.1, 0.01, 0.001])")
      .def_static("one_cycle", &optim::Schedule::one_cycle, nb::arg("highest"), nb::arg("steps"),
                  nb::arg("rise") = 0.3, nb::arg("start") = 25.0, nb::arg("end") = 1e4,
                  "Smith and Topin 2017: up to `highest` over the share `rise` of the steps, then "
                  "down.")
      .def_static(
          "custom",
          [](nb::handle rate, const std::string& name) {
            if (PyCallable_Check(rate.ptr()) == 0) {
              wrong_type({"Schedule.custom", "rate"}, rate, "it must be a function of the step");
            }
            return optim::Schedule::custom(
                [held = hold(rate)](std::int64_t step) {
                  const Locked locked;
                  return as_double(nb::handle(held.get())(step), {"Schedule", "the rate"});
                },
                name);
          },
          nb::arg("rate"), nb::arg("name") = "custom",
          nb::sig(
              "def custom(rate: typing.Callable[[int], float], name: str = 'custom') -> Schedule"),
          "Any function of the step, which counts from 0.\n\n"
          ">>> pm.optim.Schedule.custom(lambda step: 0.1 / (1 + step))")
      .def("warm_up", &optim::Schedule::warm_up, nb::arg("steps"),
           "Rises in equal parts over the first `steps` steps, then this schedule begins.")
      .def("at", &optim::Schedule::at, nb::arg("step"), "The rate of a step, counted from 0.")
      .def("__repr__",
           [](const optim::Schedule& self) { return "Schedule(" + self.to_string() + ")"; });

  nb::class_<optim::Group>(m, "Group",
                           "Different settings for the parameters whose names contain a text, or "
                           "for which a function of the variable is true.\n\n"
                           ">>> pm.optim.adamw(1e-3, groups=[pm.optim.Group(\"head\", "
                           "rate_factor=10)])")
      .def(
          "__init__",
          [](optim::Group* self, nb::handle takes, nb::handle rate_factor, nb::handle decay) {
            optim::Group group;
            if (PyUnicode_Check(takes.ptr()) != 0) {
              group.name = as_text(takes, {"Group", "takes"});
              group.takes = [part = group.name](const Variable& variable) {
                return variable.name().find(part) != std::string::npos;
              };
            } else if (PyCallable_Check(takes.ptr()) != 0) {
              group.name = "function";
              group.takes = [held = hold(takes)](const Variable& variable) {
                const Locked locked;
                return PyObject_IsTrue(nb::handle(held.get())(variable).ptr()) == 1;
              };
            } else {
              wrong_type({"Group", "takes"}, takes,
                         "it must be a part of the names, or a function of the variable");
            }
            group.rate_factor = as_double(rate_factor, {"Group", "rate_factor"});
            group.weight_decay_factor = as_double(decay, {"Group", "weight_decay_factor"});
            new (self) optim::Group(std::move(group));
          },
          nb::arg("takes"), nb::kw_only(), nb::arg("rate_factor") = 1.0,
          nb::arg("weight_decay_factor") = 1.0,
          nb::sig("def __init__(self, takes: str | typing.Callable[[Variable], bool], *, "
                  "rate_factor: float = 1.0, weight_decay_factor: float = 1.0) -> None"))
      .def_ro("name", &optim::Group::name)
      .def_ro("rate_factor", &optim::Group::rate_factor)
      .def_ro("weight_decay_factor", &optim::Group::weight_decay_factor);

  nb::class_<optim::Optimizer>(m, "Optimizer", nb::dynamic_attr(),
                               "Updates variables by their gradients.\n\n"
                               ">>> optimizer = pm.optim.sgd(0.1, momentum=0.9)\n"
                               ">>> optimizer.apply(tape.gradient(loss, net))")
      .def(
          "apply",
          [](optim::Optimizer& self, nb::handle gradients) {
            ops::Gradients* given = nullptr;
            if (!nb::try_cast(gradients, given) || given == nullptr) {
              wrong_type({"apply", "gradients"}, gradients,
                         "it must be what tape.gradient(loss, module) gives");
            }
            const Unlocked unlocked;
            self.apply(*given);
          },
          nb::arg("gradients"), nb::sig("def apply(self, gradients: Gradients) -> None"),
          "One step.")
      .def_prop_ro("name", &optim::Optimizer::name)
      .def_prop_ro("rate", &optim::Optimizer::rate, "The learning rate of the next step.")
      .def_prop_ro("step", &optim::Optimizer::step, "Steps taken so far.")
      .def_prop_ro("state", &optim::Optimizer::state, "Its state, as variables.")
      .def_prop_ro("state_bytes", &optim::Optimizer::state_bytes)
      .def_prop_rw("rate_factor", &optim::Optimizer::rate_factor,
                   &optim::Optimizer::set_rate_factor,
                   "Multiplies the schedule's rate in all steps to come.")
      .def("release", &optim::Optimizer::release, "Frees the memory of its state.")
      .def("__repr__", [](const optim::Optimizer& self) {
        return std::string(self.name()) + "(" + self.schedule().to_string() + ")";
      });

  m.def(
      "sgd",
      [](nb::handle lr, nb::handle momentum, bool nesterov, nb::handle weight_decay,
         nb::handle groups, bool decay_vectors) {
        return optim::sgd({as_schedule(lr, {"sgd", "lr"}), as_double(momentum, {"sgd", "momentum"}),
                           nesterov, as_double(weight_decay, {"sgd", "weight_decay"}),
                           as_groups(groups, decay_vectors, {"sgd", "groups"})});
      },
      nb::arg("lr") = 0.01, nb::kw_only(), nb::arg("momentum") = 0.0, nb::arg("nesterov") = false,
      nb::arg("weight_decay") = 0.0, nb::arg("groups") = nb::make_tuple(),
      nb::arg("decay_vectors") = true,
      nb::sig(sig("sgd", "0.01",
                  "momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0")
                  .c_str()),
      "Stochastic gradient descent. With decay_vectors=False biases and norms' scales do not "
      "decay.");
  adam(
      m, "adam", optim::adam, 0.0,
      "beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, weight_decay: float = 0.0",
      "Kingma and Ba 2014.");
  adam(m, "adamw", optim::adamw, 0.01,
       "beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, weight_decay: float = "
       "0.01",
       "Adam with decoupled weight decay: Loshchilov and Hutter 2017.");
  m.def(
      "rmsprop",
      [](nb::handle lr, nb::handle decay, nb::handle epsilon, nb::handle momentum,
         nb::handle weight_decay, nb::handle groups, bool decay_vectors) {
        return optim::rmsprop({as_schedule(lr, {"rmsprop", "lr"}),
                               as_double(decay, {"rmsprop", "decay"}),
                               as_double(epsilon, {"rmsprop", "epsilon"}),
                               as_double(momentum, {"rmsprop", "momentum"}),
                               as_double(weight_decay, {"rmsprop", "weight_decay"}),
                               as_groups(groups, decay_vectors, {"rmsprop", "groups"})});
      },
      nb::arg("lr") = 0.001, nb::kw_only(), nb::arg("decay") = 0.9, nb::arg("epsilon") = 1e-7,
      nb::arg("momentum") = 0.0, nb::arg("weight_decay") = 0.0,
      nb::arg("groups") = nb::make_tuple(), nb::arg("decay_vectors") = true,
      nb::sig(
          sig("rmsprop", "0.001",
              "decay: float = 0.9, epsilon: float = 1e-07, momentum: float = 0.0, weight_decay: "
              "float = 0.0")
              .c_str()),
      "RMSprop.");
}

}  // namespace plimsoll::python
