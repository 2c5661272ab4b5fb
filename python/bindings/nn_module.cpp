// Modules: the base class of all, and those that are written in Python.
#include "nn_module.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/nn/parameter.h>

#include "bind.h"
#include "results.h"

namespace plimsoll::python {
namespace {

/// The name of a parameter that belongs to no module yet. None of a module's has a '/'.
constexpr const char* kUndeclared = "parameter/";

nb::tuple as_tuple(const nn::Tensors& tensors) {
  nb::list list;
  for (const Tensor& each : tensors) list.append(each);
  return nb::tuple(list);
}

nb::object one_or_tuple(const nn::Tensors& tensors) {
  if (tensors.size() == 1) return nb::cast(tensors.front());
  return as_tuple(tensors);
}

nb::object call(const nn::Module& self, const nb::args& given, const nb::kwargs& named) {
  use_process();
  nb::object inputs = given;
  if (named.size() > 0) {
    const auto* own = dynamic_cast<const PyModule*>(&self);
    inputs =
        nb::module_::import_("plimsoll.nn")
            .attr("_in_order")(nb::cast(&self, nb::rv_policy::reference),
                               own == nullptr ? nb::none() : own->method("forward"), given, named);
  }
  nn::Tensors tensors;
  for (nb::handle each : inputs) tensors.push_back(as_tensor(each, {"Module", "its input"}));
  nn::Tensors outputs;
  {
    const Unlocked unlocked;
    if (tensors.size() == 1 && dynamic_cast<const PyModule*>(&self) == nullptr) {
      outputs = {self(tensors.front())};
    } else {
      outputs = self(tensors);
    }
  }
  return one_or_tuple(outputs);
}

/// Whether it may have modules or variables.
bool is_collection(nb::handle value) {
  return PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0 ||
         PyDict_Check(value.ptr()) != 0 || PyAnySet_Check(value.ptr());
}

/// Makes a module, parameter or variable part of `own` under that name. False if it is none.
bool adopt(const PyModule& own, const char* name, nb::handle value) {
  nn::Parameter* parameter = nullptr;
  Variable* variable = nullptr;
  if (nb::isinstance<nn::Module>(value)) {
    own.declare(name, as_module(value, {"Module", name}));
  } else if (nb::try_cast(value, parameter) && parameter != nullptr) {
    own.declare(name, *parameter);
  } else if (nb::try_cast(value, variable) && variable != nullptr) {
    own.declare(name, *variable);
  } else {
    return false;
  }
  return true;
}

void set_attribute(nb::handle self, const nb::str& name, nb::handle value) {
  if (!nb::inst_ready(self)) {
    throw Error("[Module] call super().__init__() before anything is assigned in __init__");
  }
  const auto* own = dynamic_cast<PyModule*>(nb::inst_ptr<nn::Module>(self));
  const nb::object attributes = nb::steal(PyObject_GenericGetDict(self.ptr(), nullptr));
  if (PyDict_GetItemWithError(attributes.ptr(), name.ptr()) == value.ptr()) return;
  if (own != nullptr && nb::isinstance<Tensor>(value) && own->declares(name.c_str())) {
    throw InvalidArgument("[Module] " + std::string(name.c_str()) +
                          " is a variable, which a tensor cannot take the place of; change its "
                          "values: self." +
                          name.c_str() + ".assign(tensor)");
  }
  nb::object kept = nb::borrow(value);
  if (own != nullptr && !adopt(*own, name.c_str(), value) && is_collection(value)) {
    kept = nb::module_::import_("plimsoll._collections").attr("attached")(self, name, value);
  }
  if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), kept.ptr()) != 0) throw nb::python_error();
}

std::string shown(nb::handle self) {
  const auto name = nb::cast<std::string>(self.type().attr("__name__"));
  const std::int64_t count = nb::cast<const nn::Module&>(self).parameter_count();
  // A layer that was not told what comes in has none yet.
  return name + (count == 0 ? "()" : "(" + counted(count, "parameter") + ")");
}

std::vector<TensorType> types_of(nb::handle shapes, nb::handle dtype) {
  const DType type = as_dtype(dtype, {"build", "dtype"});
  std::vector<TensorType> types;
  for (nb::handle each : shapes) types.push_back({type, as_shape(each, {"build", "shapes"})});
  return types;
}

}  // namespace

PyModule::PyModule(nb::handle self)
    : self_(self), class_(nb::cast<std::string>(self.type().attr("__name__"))) {}

nb::object PyModule::method(const char* name) const {
  const nb::object self = self_.get();
  if (!nb::hasattr(self, name)) {
    throw InvalidArgument("[" + class_ + "] it has no forward(self, x); define one");
  }
  return self.attr(name);
}

nn::Tensors PyModule::forward_all(const nn::Tensors& inputs) const {
  const Locked locked;
  const nb::object outputs = method("forward")(*as_tuple(inputs));
  if (!is_tensor(outputs) && PyList_Check(outputs.ptr()) == 0 &&
      PyTuple_Check(outputs.ptr()) == 0) {
    wrong_type({class_.c_str(), "what forward() returns"}, outputs,
               "it must be a tensor, or several in a tuple; is there a `return`?");
  }
  return as_one_or_more_tensors(outputs, {class_.c_str(), "what forward() returns"});
}

Tensor PyModule::forward(const Tensor& x) const {
  nn::Tensors outputs = forward_all({x});
  if (outputs.size() != 1) {
    throw InvalidArgument("[" + class_ + "] forward() returns " +
                          counted(static_cast<std::int64_t>(outputs.size()), "tensor") +
                          " where one is wanted");
  }
  return outputs.front();
}

Tensor PyModule::loss_all(const nn::Tensors& inputs, const nn::Tensors& targets) const {
  const Locked locked;
  const nb::object self = self_.get();
  if (!nb::hasattr(self, "loss")) {
    throw InvalidArgument("[" + class_ +
                          "] it has no loss of its own; name one, Trainer(model, "
                          "loss=\"cross_entropy\"), or define loss(self, x, target)");
  }
  const nb::object result = self.attr("loss")(*as_tuple(inputs), one_or_tuple(targets));
  return as_tensor(result, {class_.c_str(), "what loss() returns"});
}

Tensor PyModule::loss(const Tensor& input, const Tensor& target) const {
  return loss_all({input}, {target});
}

void PyModule::declare(const std::string& name, std::shared_ptr<nn::Module> module) const {
  add(name, std::move(module));
}

void PyModule::declare(const std::string& name, const nn::Parameter& given) const {
  if (given.name() == kUndeclared) {
    parameter(name, given);
  } else {
    share(name, given);
  }
}

void PyModule::declare(const std::string& name, const Variable& variable) const {
  parameter(name, variable);
}

std::shared_ptr<nn::Module> as_module(nb::handle value, Where where) {
  if (!nb::isinstance<nn::Module>(value)) {
    if (PyType_Check(value.ptr()) != 0) {
      wrong_type(where, value, "it must be a module, and this is its class: add parentheses");
    }
    if (PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0) {
      wrong_type(where, value, "give each module by itself: pm.nn.Sequential(*layers)");
    }
    const bool calls = PyCallable_Check(value.ptr()) != 0;
    wrong_type(where, value,
               calls ? "it must be a module: pm.nn.Dense(10), your own pm.nn.Module, or "
                       "pm.nn.Lambda(f) for a function"
                     : "it must be a module: pm.nn.Dense(10), or your own pm.nn.Module");
  }
  if (!nb::inst_ready(value)) {
    throw Error("[" + std::string(where.function) +
                "] the module was not initialised; call super().__init__() first in its __init__");
  }
  if (const auto* own = dynamic_cast<PyModule*>(nb::inst_ptr<nn::Module>(value))) {
    return std::make_shared<PyModule>(*own);
  }
  return nb::cast<std::shared_ptr<nn::Module>>(value);
}

nn::Init as_init(nb::handle value, Where where) {
  nn::Init* init = nullptr;
  if (nb::try_cast(value, init) && init != nullptr) return *init;
  if (const auto number = as_number(value)) return nn::Init::constant(*number);
  if (PyUnicode_Check(value.ptr()) != 0) {
    const std::string text = as_text(value, where);
    if (text == "zeros") return nn::Init::zeros();
    if (text == "ones") return nn::Init::ones();
  }
  wrong_value(where, value,
              "it must be a pm.nn.Init such as pm.nn.Init.normal(0.02), a number, \"zeros\" or "
              "\"ones\"");
}

std::optional<nn::Init> as_optional_init(nb::handle value, Where where) {
  if (value.is_none()) return std::nullopt;
  return as_init(value, where);
}

void bind_module(nb::module_& m) {
  nb::class_<nn::Init>(m, "Init", "The first values of a parameter.")
      .def_static("constant", &nn::Init::constant, nb::arg("value"))
      .def_static("zeros", &nn::Init::zeros)
      .def_static("ones", &nn::Init::ones)
      .def_static("uniform", &nn::Init::uniform, nb::arg("bound"),
                  "Evenly distributed over [-bound, bound).")
      .def_static("normal", &nn::Init::normal, nb::arg("deviation"),
                  "Normally distributed around 0.")
      .def_static("truncated_normal", &nn::Init::truncated_normal, nb::arg("deviation"),
                  "Normal, drawn again beyond two deviations.")
      .def_static("he_normal", &nn::Init::he_normal, nb::arg("fan"))
      .def_static("glorot_uniform", &nn::Init::glorot_uniform, nb::arg("fan_in"),
                  nb::arg("fan_out"))
      .def_static("fan_in_uniform", &nn::Init::fan_in_uniform, nb::arg("fan_in"));

  nb::class_<nn::Parameter, Variable>(
      m, "Parameter",
      "A variable of a module, declared by assigning it to an attribute. It gets its first values "
      "when the module is first called or trained.\n\n"
      ">>> self.scale = pm.nn.Parameter((64,), init=\"ones\")")
      .def(
          "__init__",
          [](nn::Parameter* self, nb::handle shape, nb::handle init, nb::handle dtype,
             bool buffer) {
            new (self) nn::Parameter(
                kUndeclared,
                {as_dtype(dtype, {"Parameter", "dtype"}), as_shape(shape, {"Parameter", "shape"})},
                as_init(init, {"Parameter", "init"}), buffer);
          },
          nb::arg("shape"), nb::arg("init") = "zeros", nb::kw_only(), nb::arg("dtype") = DType::f32,
          nb::arg("buffer") = false,
          nb::sig(
              "def __init__(self, shape: int | typing.Sequence[int], init: Init | float | str = "
              "'zeros', *, dtype: DType | str = 'f32', buffer: bool = False) -> None"))
      .def_prop_ro("is_buffer", &nn::Parameter::is_buffer,
                   "Not trained, but saved, as running statistics are.");

  nb::class_<nn::Module, PyModule> cls(m, "Module", nb::is_weak_referenceable(), nb::dynamic_attr(),
                                       "A piece of a model. Modules, parameters and variables that "
                                       "are assigned to attributes belong "
                                       "to it.\n\n"
                                       ">>> class Net(pm.nn.Module):\n"
                                       "...     def __init__(self):\n"
                                       "...         super().__init__()\n"
                                       "...         self.first = pm.nn.Dense(128)\n"
                                       "...         self.second = pm.nn.Dense(10)\n"
                                       "...     def forward(self, x):\n"
                                       "...         return self.second(pm.relu(self.first(x)))");
  cls.def("__init__", [](nb::pointer_and_handle<nn::Module> v) { new (v.p) PyModule(v.h); })
      .def("__setattr__", &set_attribute, nb::arg("name"), nb::arg("value").none(),
           nb::sig("def __setattr__(self, name: str, value: typing.Any, /) -> None"))
      .def(
          "_adopt",
          [](nb::handle self, nb::handle name, nb::handle part) {
            const std::string text = as_text(name, {"Module", "name"});
            const auto* own = dynamic_cast<PyModule*>(nb::inst_ptr<nn::Module>(self));
            if (own != nullptr) adopt(*own, text.c_str(), part);
            return nb::borrow(part);
          },
          nb::arg("name"), nb::arg("part"),
          nb::sig("def _adopt(self, name: str, part: typing.Any) -> typing.Any"))
      .def("__call__", &call,
           nb::sig("def __call__(self, *inputs: Tensor | Variable, **named: Tensor | Variable | "
                   "None) -> typing.Any"))
      .def_prop_ro("name", &nn::Module::name, "Its name within its parent, empty for a root.")
      .def("parameters", &nn::Module::parameters,
           "All parameters, those of modules within included.")
      .def("buffers", &nn::Module::buffers,
           "Everything that is saved but not trained, such as running statistics.")
      .def("find", &nn::Module::find, nb::arg("name"),
           "The parameter or buffer of that dotted name; None if there is none.")
      .def_prop_ro("parameter_count", &nn::Module::parameter_count, "Elements of all parameters.")
      .def_prop_ro("nbytes", &nn::Module::bytes, "Bytes of parameters and buffers.")
      .def(
          "build",
          [](const nn::Module& self, nb::args shapes, nb::handle dtype) {
            const std::vector<TensorType> types = types_of(shapes, dtype);
            const Unlocked unlocked;
            self.build(types);
          },
          nb::arg("shapes"), nb::arg("dtype") = DType::f32,
          nb::sig(
              "def build(self, *shapes: typing.Sequence[int], dtype: DType | str = 'f32') -> None"),
          "Infers the extents that layers were not told, for inputs of these shapes; takes no "
          "memory.")
      .def(
          "materialize",
          [](const nn::Module& self, nb::handle device, std::optional<std::uint64_t> seed) {
            const Device where = as_device(device, {"materialize", "device"});
            const Unlocked unlocked;
            self.materialize(where, seed);
          },
          nb::arg("device").none() = nb::none(), nb::arg("seed").none() = nb::none(),
          nb::sig("def materialize(self, device: Device | Session | str | None = None, seed: int | "
                  "None = None) -> None"),
          "Allocates and initialises what has no data yet.")
      .def("release", &nn::Module::release,
           "Frees the memory of all parameters and buffers; materialize() gives them first values "
           "again.")
      .def(
          "train",
          [](nb::object self, bool on) {
            nb::cast<const nn::Module&>(self).train(on);
            return self;
          },
          nb::arg("on") = true, nb::sig("def train(self, on: bool = True) -> typing.Self"),
          "Training mode, the default: dropout and batch normalisation differ in evaluation. Gives "
          "the module itself, as the next two do.")
      .def(
          "eval",
          [](nb::object self) {
            nb::cast<const nn::Module&>(self).eval();
            return self;
          },
          nb::sig("def eval(self) -> typing.Self"),
          "Evaluation mode: dropout is off, and batch normalisation uses its running statistics.")
      .def_prop_ro("training", &nn::Module::training)
      .def(
          "freeze",
          [](nb::object self, bool on) {
            nb::cast<const nn::Module&>(self).freeze(on);
            return self;
          },
          nb::arg("on") = true, nb::sig("def freeze(self, on: bool = True) -> typing.Self"),
          "Keeps its parameters from being trained; freeze(False) trains them again.")
      .def("__repr__", &shown);
  bind_module_tree(cls);
}

}  // namespace plimsoll::python
