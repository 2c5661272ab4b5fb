// Instructions of programs by name, recorded or carried out at once, and Python functions in them.
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include <nanobind/stl/string.h>

#include <plimsoll/data/program_function.h>
#include <plimsoll/data/program_ops.h>
#include <plimsoll/device/default_device.h>

#include "bind.h"
#include "elements.h"
#include "process.h"
#include "symbolic.h"
#include "train.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

/// A name that lives as long as the process: attributes do not copy theirs.
std::string_view interned(const std::string& name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;  // NOLINT: programs may outlive everything
  const std::lock_guard lock(mutex);
  return *names->insert(name).first;
}

ops::Attribute attribute(nb::handle value, Where where) {
  if (PyBool_Check(value.ptr()) != 0) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr()) != 0) return as_int(value, where);
  if (PyFloat_Check(value.ptr()) != 0) return PyFloat_AsDouble(value.ptr());
  if (PyUnicode_Check(value.ptr()) != 0) return as_text(value, where);
  if (PyBytes_Check(value.ptr()) != 0) {
    const auto bytes = nb::borrow<nb::bytes>(value);
    return std::string(bytes.c_str(), bytes.size());
  }
  if (PyList_Check(value.ptr()) != 0 || PyTuple_Check(value.ptr()) != 0) {
    return as_ints(value, where);
  }
  return as_dtype(value, where);
}

ops::Attributes attributes_of(const nb::dict& given) {
  ops::Attributes attributes;
  for (const auto& [name, value] : given) {
    const std::string text = as_text(name, {"op", "a name"});
    attributes.set(interned(text), attribute(value, {"op", text.c_str()}));
  }
  return attributes;
}

std::vector<Symbolic> beside(const Symbolic& like, nb::handle inputs) {
  std::vector<Symbolic> all;
  for (nb::handle each : inputs) {
    Traced* traced = nullptr;
    if (nb::try_cast(each, traced) && traced != nullptr) {
      all.push_back(traced->value);
    } else {
      all.push_back(data::constant_like(like, to_value(each, nullptr, {"op", "an input"})));
    }
  }
  return all;
}

nb::list record(const Traced& like, const std::string& op, nb::handle inputs,
                const nb::dict& given) {
  nb::list results;
  for (const Symbolic& each :
       data::call_like(like.value, op, beside(like.value, inputs), attributes_of(given))) {
    results.append(Traced{each});
  }
  return results;
}

Tensor tensor_of(const data::Value& value, const Device& device) {
  if (!value.is_scalar()) return value.tensor();
  Tensor made = Tensor::empty({}, value.dtype(), device);
  std::memcpy(made.raw_mutable_data(), &value.bits(), dtype_size(value.dtype()));
  return made;
}

nb::list run(const std::string& op, nb::handle inputs, const nb::dict& given, nb::handle where,
             std::uint64_t seed) {
  data::Element element;
  data::ElementSpec spec;
  for (nb::handle each : inputs) {
    data::Value value = to_value(each, nullptr, {"op", "an input"});
    if (!value.is_scalar() && value.dtype() != DType::bytes) {
      value = value.tensor().contiguous();
    }
    spec.components.push_back(data::TensorSpec::of(value));
    element.push_back(std::move(value));
  }
  const Device asked = as_device(where, {"op", "device"});
  const Device device = asked.capabilities().host_memory ? asked : DefaultDevice::host();
  const ops::Attributes attributes = attributes_of(given);
  data::Element results;
  {
    const Unlocked unlocked;
    data::ProgramBuilder builder(spec);
    std::vector<Symbolic> operands;
    for (const auto& each : builder.inputs()) operands.push_back(each.value);
    data::Symbolics outputs;
    for (const Symbolic& each : builder.call(op, operands, attributes)) outputs.push_back(each);
    results = builder.finish(outputs).run(element, device, seed);
  }
  nb::list list;
  for (const data::Value& each : results) list.append(tensor_of(each, device));
  return list;
}

/// A Python function that programs call, with tensors and numbers.
class Foreign {
 public:
  Foreign(nb::handle cell, nb::handle spec, const std::string& name) {
    data::ProgramFunction function;
    function.name = name;
    function.outputs = as_spec(spec, {"call", "spec"}).components;
    function.run = [call = Callable(cell)](std::span<const data::Value> inputs,
                                           data::MapContext& /*context*/) {
      const Locked locked;
      nb::list arguments;
      for (const data::Value& each : inputs) arguments.append(to_python(each));
      std::vector<data::Value> results;
      try {
        const nb::object given = call.get()(*nb::tuple(arguments));
        for (nb::handle each : given) {
          results.push_back(to_value(each, nullptr, {"call", "a result"}));
        }
      } catch (nb::python_error& error) {
        fail_as_data_error(error);
      }
      return results;
    };
    registered_ = std::make_unique<data::RegisteredFunction>(std::move(function));
  }
  const std::string& key() const { return registered_->key(); }

 private:
  std::unique_ptr<data::RegisteredFunction> registered_;
};

}  // namespace

void bind_program_calls(nb::module_& m) {
  m.def(
      "_record", &record, nb::arg("like"), nb::arg("op"), nb::arg("inputs"), nb::arg("attributes"),
      nb::sig("def _record(like: Symbolic, op: str, inputs: typing.Sequence[typing.Any], "
              "attributes: dict[str, typing.Any]) -> list[Symbolic]"),
      "Adds an instruction to the program of `like`; inputs that are not symbolic are constants.");
  m.def(
      "_constant",
      [](const Traced& like, nb::handle value) {
        return Traced{
            data::constant_like(like.value, to_value(value, nullptr, {"constant", "value"}))};
      },
      nb::arg("like"), nb::arg("value"), "A constant in the program of `like`.");
  m.def("_run_op", &run, nb::arg("op"), nb::arg("inputs"), nb::arg("attributes"),
        nb::arg("device").none() = nb::none(), nb::arg("seed") = 0,
        nb::sig("def _run_op(op: str, inputs: typing.Sequence[typing.Any], attributes: dict[str, "
                "typing.Any], device: Device | Session | str | None = None, seed: int = 0) -> "
                "list[Tensor]"),
        "Carries out an instruction on tensors at once.");
  nb::class_<Foreign>(m, "_Foreign", "A Python function that programs call while this lives.")
      .def(nb::init<nb::handle, nb::handle, const std::string&>(), nb::arg("cell"), nb::arg("spec"),
           nb::arg("name"),
           nb::sig("def __init__(self, cell: typing.Any, spec: typing.Any, name: str) -> None"))
      .def_prop_ro("key", &Foreign::key);
}

}  // namespace plimsoll::python
