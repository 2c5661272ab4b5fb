// Variables and gradients.
#include <plimsoll/ops/tape.h>

#include <algorithm>
#include <memory>
#include <optional>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/ops/variable.h>

#include "bind.h"
#include "convert.h"
#include "exchange.h"
#include "indexing.h"
#include "operators.h"
#include "process.h"
#include "results.h"
#include "values.h"

namespace plimsoll::python {
namespace {

/// A tape between enter and exit, and after it for its gradients.
class Tape {
 public:
  explicit Tape(bool persistent) : persistent_(persistent) {}

  void enter() {
    if (tape_ != nullptr) {
      throw InvalidArgument("[GradientTape] a tape is entered once; make another GradientTape()");
    }
    check_process();
    tape_ = std::make_unique<ops::GradientTape>(ops::TapeOptions{persistent_});
  }
  ops::GradientTape& get() {
    if (tape_ == nullptr) {
      throw InvalidArgument(
          "[GradientTape] it is not entered: write `with pm.GradientTape() as tape:`");
    }
    return *tape_;
  }
  void exit() {
    if (tape_ != nullptr) tape_->stop();
  }

 private:
  bool persistent_;
  std::unique_ptr<ops::GradientTape> tape_;
};

bool all_variables(nb::handle sources) {
  for (nb::handle each : sources) {
    if (!nb::isinstance<Variable>(each)) return false;
  }
  return length(sources) > 0;
}

ops::Gradients made_gradients(nb::handle variables, nb::handle tensors) {
  ops::Gradients made;
  if (!nb::isinstance<nb::sequence>(variables) || !all_variables(variables)) {
    wrong_type({"Gradients", "variables"}, variables, "it must be a list of variables");
  }
  if (PyList_Check(tensors.ptr()) == 0 && PyTuple_Check(tensors.ptr()) == 0) {
    wrong_type({"Gradients", "tensors"}, tensors, "it must be a list of tensors");
  }
  for (nb::handle each : variables) made.variables.push_back(nb::cast<Variable>(each));
  for (nb::handle each : tensors) {
    made.tensors.push_back(as_optional_tensor(each, {"Gradients", "one of tensors"}));
  }
  if (made.variables.size() != made.tensors.size()) {
    throw InvalidArgument(
        "[Gradients] there are " +
        counted(static_cast<std::int64_t>(made.variables.size()), "variable") + " and " +
        counted(static_cast<std::int64_t>(made.tensors.size()), "tensor") +
        "; give one tensor for each variable, or None for one that stays as it is");
  }
  for (std::size_t i = 0; i < made.tensors.size(); ++i) {
    if (made.tensors[i].defined() && made.tensors[i].shape() != made.variables[i].type().shape) {
      throw InvalidArgument("[Gradients] the gradient of '" + made.variables[i].name() + "' is " +
                            made.tensors[i].type().to_string() + ", and the variable " +
                            made.variables[i].type().to_string());
    }
  }
  return made;
}

/// Where the gradient is that `index` names: a place, a variable or the name of one.
std::size_t place_of(const ops::Gradients& g, nb::handle index) {
  Variable* variable = nullptr;
  const bool by_variable = nb::try_cast(index, variable) && variable != nullptr;
  if (by_variable || PyUnicode_Check(index.ptr()) != 0) {
    const std::string name = by_variable ? variable->name() : as_text(index, {"Gradients", "name"});
    const auto found = std::ranges::find_if(g.variables, [&](const Variable& each) {
      return by_variable ? each == *variable : each.name() == name;
    });
    if (found != g.variables.end()) return static_cast<std::size_t>(found - g.variables.begin());
    std::string names;
    for (const Variable& each : g.variables) names += (names.empty() ? "" : ", ") + each.name();
    throw nb::key_error(
        ("[Gradients] there is no gradient of '" + name + "'; there are: " + names).c_str());
  }
  if (PyIndex_Check(index.ptr()) == 0) {
    wrong_type({"Gradients", "index"}, index, "it must be an integer, a variable or its name");
  }
  const auto size = static_cast<std::int64_t>(g.tensors.size());
  const std::int64_t given = as_int(index, {"Gradients", "index"});
  const std::int64_t at = given < 0 ? given + size : given;
  if (at < 0 || at >= size) {
    throw nb::index_error(("[Gradients] there is no gradient " + std::to_string(given) +
                           "; there are " + std::to_string(size))
                              .c_str());
  }
  return static_cast<std::size_t>(at);
}

nb::object gradient(Tape& self, nb::handle target, nb::handle sources, nb::handle seed) {
  const Tensor of = as_tensor(target, {"gradient", "target"});
  const Tensor weights = as_optional_tensor(seed, {"gradient", "seed"});
  ops::GradientTape& tape = self.get();
  Variable* variable = nullptr;
  if (nb::try_cast(sources, variable) && variable != nullptr) {
    const Variable by = *variable;
    Tensor result;
    {
      const Unlocked unlocked;
      result = tape.gradient(of, by);
    }
    return tensor_or_none(result);
  }
  if (nb::isinstance<Tensor>(sources)) {
    const Tensor by = as_tensor(sources, {"gradient", "sources"});
    std::vector<Tensor> results;
    {
      const Unlocked unlocked;
      results = tape.gradient(of, std::span<const Tensor>(&by, 1), weights);
    }
    return tensor_or_none(results.front());
  }
  const bool is_module = nb::isinstance<nn::Module>(sources);
  if (!is_module && PyList_Check(sources.ptr()) == 0 && PyTuple_Check(sources.ptr()) == 0) {
    wrong_type(
        {"gradient", "sources"}, sources,
        "it must be a module, a variable, a tensor that the tape watches, or a list of them");
  }
  if (is_module || all_variables(sources)) {
    std::vector<Variable> variables;
    if (is_module) {
      variables = nb::cast<const nn::Module&>(sources).trainable_variables();
    } else {
      for (nb::handle each : sources) variables.push_back(nb::cast<Variable>(each));
    }
    ops::Gradients gradients;
    {
      const Unlocked unlocked;
      gradients = tape.gradient(of, std::span<const Variable>(variables));
    }
    return nb::cast(std::move(gradients));
  }
  std::vector<Tensor> by;
  for (nb::handle each : sources) {
    Variable* one = nullptr;
    by.push_back(nb::try_cast(each, one) && one != nullptr
                     ? one->tensor()
                     : as_tensor(each, {"gradient", "sources"}));
  }
  std::vector<Tensor> results;
  {
    const Unlocked unlocked;
    results = tape.gradient(of, by, weights);
  }
  nb::list list;
  for (const Tensor& each : results) list.append(tensor_or_none(each));
  return list;
}

}  // namespace

nb::object tensor_or_none(const Tensor& x) { return x.defined() ? nb::cast(x) : nb::none(); }

void bind_tape(nb::module_& m) {
  nb::class_<Variable> variable(
      m, "Variable", nb::is_weak_referenceable(),
      "A tensor that persists and changes: weights, running statistics. Ops take it as a tensor, "
      "and tapes follow it by themselves.\n\n"
      ">>> w = pm.Variable(pm.zeros((3, 1)), name=\"w\")");
  variable
      .def(
          "__init__",
          [](Variable* self, nb::handle value, nb::handle name, bool trainable) {
            Tensor data = nb::isinstance<Tensor>(value)
                              ? as_tensor(value, {"Variable", "value"})
                              : make_tensor(value, std::nullopt,
                                            as_device(nb::none(), {"Variable", "device"}));
            new (self) Variable(std::move(data), {.name = as_text(name, {"Variable", "name"}),
                                                  .trainable = trainable});
          },
          nb::arg("value"), nb::kw_only(), nb::arg("name") = "variable",
          nb::arg("trainable") = true,
          nb::sig(
              "def __init__(self, value: typing.Any, *, name: str = 'variable', trainable: bool = "
              "True) -> None"))
      .def_prop_ro("name", &Variable::name)
      .def_prop_rw("trainable", &Variable::trainable, &Variable::set_trainable,
                   "Whether tapes record it by themselves, and optimizers train it.")
      .def_prop_ro("has_data", &Variable::has_data,
                   "False while it is only declared: it takes no memory yet.")
      .def_prop_ro(
          "shape", [](const Variable& v) { return shape_tuple(v.type().shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype", [](const Variable& v) { return v.type().dtype; })
      .def_prop_ro("ndim", [](const Variable& v) { return v.type().shape.rank(); })
      .def_prop_ro("size", [](const Variable& v) { return v.type().elements(); })
      .def_prop_ro("device", [](const Variable& v) { return v.tensor().device(); })
      .def_prop_ro(
          "value", [](const Variable& v) { return v.value(); },
          "Its tensor for reading. Shares its memory.")
      .def(
          "assign",
          [](const Variable& v, nb::handle value) {
            const Tensor given = is_tensor(value)
                                     ? as_tensor(value, {"assign", "value"})
                                     : make_tensor(value, v.type().dtype, v.value().device());
            const Unlocked unlocked;
            v.assign(given);
          },
          nb::arg("value"), nb::sig("def assign(self, value: typing.Any) -> None"),
          "Writes a value of the same shape and dtype in place.")
      .def("numpy", &to_numpy, nb::sig("def numpy(self) -> typing.Any"),
           "A NumPy array that shares its memory.")
      .def("__array__", &as_array, nb::arg("dtype").none() = nb::none(),
           nb::arg("copy").none() = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "typing.Any"))
      .def(
          "item", [](const Variable& v) { return item(v.value()); },
          nb::sig("def item(self) -> typing.Any"))
      .def(
          "tolist", [](const Variable& v) { return to_list(v.value()); },
          nb::sig("def tolist(self) -> typing.Any"))
      .def("__len__", [](const Variable& v) { return v.type().shape.dim(0); })
      .def("__hash__", [](const Variable& v) { return std::hash<std::string>()(v.name()); })
      .def("__repr__", [](const Variable& v) {
        return "Variable('" + v.name() + "', " + v.type().to_string() +
               (v.has_data() ? ")" : ", no data yet)");
      });
  bind_operators(variable);
  bind_methods(variable);

  nb::class_<ops::Gradients>(
      m, "Gradients",
      "Variables with the gradients of a loss by them, for Optimizer.apply.\n\n"
      ">>> pm.Gradients(g.variables, [t * 0.5 for t in g.tensors])")
      .def(
          "__init__",
          [](ops::Gradients* self, nb::handle variables, nb::handle tensors) {
            new (self) ops::Gradients(made_gradients(variables, tensors));
          },
          nb::arg("variables"), nb::arg("tensors"),
          nb::sig("def __init__(self, variables: typing.Sequence[Variable], tensors: "
                  "typing.Sequence[Tensor | None]) -> None"))
      .def_ro("variables", &ops::Gradients::variables)
      .def("__repr__",
           [](const ops::Gradients& g) {
             std::string names;
             for (std::size_t i = 0; i < g.variables.size() && i < 4; ++i) {
               names += (i == 0 ? "" : ", ") + g.variables[i].name();
             }
             if (g.variables.size() > 4) names += ", ...";
             return "Gradients(of " +
                    counted(static_cast<std::int64_t>(g.variables.size()), "variable") +
                    (names.empty() ? "" : ": ") + names + ")";
           })
      .def_prop_ro(
          "tensors",
          [](const ops::Gradients& g) {
            nb::list list;
            for (const Tensor& each : g.tensors) list.append(tensor_or_none(each));
            return list;
          },
          nb::sig("def tensors(self) -> list[Tensor | None]"),
          "One for each variable; None where the loss does not depend on it.")
      .def(
          "of", [](const ops::Gradients& g, const Variable& v) { return tensor_or_none(g.of(v)); },
          nb::arg("variable"), nb::sig("def of(self, variable: Variable) -> Tensor | None"))
      .def("__len__", [](const ops::Gradients& g) { return g.tensors.size(); })
      .def(
          "__getitem__",
          [](const ops::Gradients& g, nb::handle index) {
            return tensor_or_none(g.tensors[place_of(g, index)]);
          },
          nb::sig("def __getitem__(self, index: int | str | Variable, /) -> Tensor | None"),
          "By place, by the name of the variable, or by the variable.");

  m.def(
      "_same_variables",
      [](const std::vector<Variable>& a, const std::vector<Variable>& b) { return a == b; },
      nb::arg("a"), nb::arg("b"),
      nb::sig("def _same_variables(a: list[Variable], b: list[Variable]) -> bool"));

  nb::class_<Tape>(m, "GradientTape",
                   "Records the ops of a block, so that gradients can be taken.\n\n"
                   ">>> with pm.GradientTape() as tape:\n"
                   "...     loss = pm.nn.mean_squared_error(net(x), y)\n"
                   ">>> optimizer.apply(tape.gradient(loss, net))")
      .def(nb::init<bool>(), nb::kw_only(), nb::arg("persistent") = false)
      .def(
          "watch",
          [](Tape& self, nb::handle tensors) {
            self.get().watch(as_one_or_more_tensors(tensors, {"watch", "tensors"}));
          },
          nb::arg("tensors"),
          nb::sig("def watch(self, tensors: Tensor | typing.Sequence[Tensor]) -> None"),
          "Records a plain tensor as well; variables are recorded by themselves.")
      .def("gradient", &gradient, nb::arg("target"), nb::arg("sources"),
           nb::arg("seed").none() = nb::none(),
           nb::sig(
               "def gradient(self, target: Tensor | Variable, sources: typing.Any, seed: Tensor | "
               "None = None) -> typing.Any"),
           "The derivative of `target` by each source: a tensor for one tensor or variable, "
           "Gradients for a module or a list of variables, a list for a list of tensors.")
      .def(
          "__enter__",
          [](nb::object self) {
            nb::cast<Tape&>(self).enter();
            return self;
          },
          nb::sig("def __enter__(self) -> GradientTape"))
      .def(
          "__exit__", [](Tape& self, nb::args /*raised*/) { self.exit(); },
          nb::sig("def __exit__(self, *raised: object) -> None"));
}

}  // namespace plimsoll::python
