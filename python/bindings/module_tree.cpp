// What a module is made of, by name: parameters, buffers, modules within it, and their values as a
// dict.
#include <algorithm>
#include <set>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/text.h>
#include <plimsoll/nn/parameter.h>
#include <plimsoll/nn/published_names.h>
#include <plimsoll/ops/elementwise.h>

#include "exchange.h"
#include "nn_module.h"

namespace plimsoll::python {
namespace {

using Named = std::pair<std::string, nn::Parameter>;

/// Names as seen from `self`: without the path to it. A parameter of a module that lies elsewhere,
/// too, keeps the name it has from there.
std::vector<Named> named(const nn::Module& self, const std::vector<nn::Parameter>& parameters) {
  const std::string before = self.path().empty() ? "" : self.path() + ".";
  std::vector<Named> all;
  for (const nn::Parameter& each : parameters) {
    const std::string& name = each.name();
    all.emplace_back(name.starts_with(before) ? name.substr(before.size()) : name, each);
  }
  return all;
}

std::vector<Named> named_values(const nn::Module& self, const char* who) {
  std::vector<Named> all = named(self, self.parameters());
  std::ranges::move(named(self, self.buffers()), std::back_inserter(all));
  std::set<std::string> names;
  for (const auto& [name, parameter] : all) {
    if (names.insert(name).second) continue;
    throw InvalidArgument("[" + std::string(who) + "] two parameters are called '" + name +
                          "'; if one is shared with another module, take the state of a module "
                          "that has both");
  }
  return all;
}

/// The Python object of a module within another, or a new one for it.
nb::object object_of(const std::shared_ptr<nn::Module>& module) {
  if (const auto* own = dynamic_cast<const PyModule*>(module.get())) return own->object();
  return nb::cast(module);
}

void children(const nn::Module& self, nb::list& out, bool names) {
  for (std::size_t i = 0; i < self.children().size(); ++i) {
    const nb::object child = object_of(self.children()[i]);
    if (names) {
      out.append(nb::make_tuple(self.child_names()[i], child));
    } else {
      out.append(child);
    }
  }
}

/// `self` and all below it, each once, under the first name that it is found by.
void modules(const nb::object& self, const std::string& name, std::set<PyObject*>& seen,
             nb::list& out, bool names) {
  if (!seen.insert(self.ptr()).second) return;
  if (names) {
    out.append(nb::make_tuple(name, self));
  } else {
    out.append(self);
  }
  const auto& module = nb::cast<const nn::Module&>(self);
  for (std::size_t i = 0; i < module.children().size(); ++i) {
    const std::string below =
        name.empty() ? module.child_names()[i] : name + "." + module.child_names()[i];
    modules(object_of(module.children()[i]), below, seen, out, names);
  }
}

nb::dict state_dict(const nn::Module& self) {
  nb::dict state;
  for (const auto& [name, parameter] : named_values(self, "state_dict")) {
    if (!parameter.has_data()) {
      throw InvalidArgument("[state_dict] " + name +
                            " has no values yet; call the module, train it, or materialize() it");
    }
    state[name.c_str()] = parameter.tensor();
  }
  if (const nn::Module* const unbuilt = self.first_unbuilt()) {
    const std::string& path = unbuilt->path();
    throw InvalidArgument(
        "[state_dict] " + (path.empty() ? "the module" : path) +
        " has no parameters yet, because it does not know what comes in; call the "
        "module or build() it first, net.build((1, 64)), or tell the layer");
  }
  return state;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  const std::size_t more = names.size() - std::min(kShown, names.size());
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

using Names = std::vector<std::string>;

/// Of a tensor or an array; that of a scalar for anything else.
Shape shape_of(nb::handle value) {
  Shape shape;
  std::vector<std::int64_t> extents;
  if (!nb::hasattr(value, "shape") || !nb::try_cast(nb::tuple(value.attr("shape")), extents)) {
    return shape;
  }
  for (const std::int64_t extent : extents) shape = shape.with_inserted(shape.rank(), extent);
  return shape;
}

/// Takes the word that published names lack (nn::lacking_prefix()) from ours.
void without_lacking_prefix(const nn::Module& self, std::vector<Named>& here,
                            const nb::dict& given) {
  Names names;
  for (const auto& [name, parameter] : named(self, self.parameters())) names.push_back(name);
  const std::string_view prefix = nn::lacking_prefix(
      names, [&](const std::string& name) { return given.contains(name.c_str()); });
  for (auto& [name, parameter] : here) {
    if (!prefix.empty() && name.starts_with(prefix)) name.erase(0, prefix.size());
  }
}

/// Throws OutOfMemory if the largest value that is converted, or copied to another device, has no
/// room there. They are converted one by one.
void require_staging(const std::vector<std::pair<nn::Parameter, Tensor>>& pairs,
                     const Device& device) {
  Bytes most = 0;
  Device where = device;
  for (const auto& [parameter, value] : pairs) {
    const TensorType type = parameter.type();
    const Device to = parameter.has_data() ? parameter.tensor().device() : device;
    const bool moves = value.device() != to;
    const Bytes bytes =
        (moves ? value.nbytes() : 0) + (value.dtype() != type.dtype ? type.bytes() : 0);
    if (bytes <= most) continue;
    most = bytes;
    where = to;
  }
  if (most == 0) return;
  (void)Tensor::empty({static_cast<std::int64_t>(most)}, DType::u8, where,
                      {.tag = Tag::staging, .label = "load_state_dict"});
}

std::pair<Names, Names> load_state_dict(const nn::Module& self, nb::handle state, bool strict) {
  if (!nb::hasattr(state, "items")) {
    wrong_type({"load_state_dict", "state"}, state,
               "it must be a dict of tensors by name; pm.load_safetensors(path) reads one");
  }
  const nb::dict given = nb::steal<nb::dict>(PyDict_New());
  if (PyDict_Update(given.ptr(), state.ptr()) != 0) throw nb::python_error();
  std::vector<Named> here = named_values(self, "load_state_dict");
  without_lacking_prefix(self, here, given);
  std::set<std::string> known;
  for (const auto& [name, parameter] : here) known.insert(name);
  Names missing;
  Names unexpected;
  for (const auto& [key, value] : given) {
    const std::string name = as_text(key, {"load_state_dict", "a name"});
    if (known.contains(name) || nn::is_left_out(name, shape_of(value))) continue;
    unexpected.push_back(name);
  }
  std::vector<std::pair<nn::Parameter, Tensor>> pairs;
  for (const auto& [name, parameter] : here) {
    if (!given.contains(name.c_str())) {
      missing.push_back(name);
      continue;
    }
    const std::string argument = "state[\"" + name + "\"]";
    Tensor value =
        as_tensor_or_array(nb::object(given[name.c_str()]), {"load_state_dict", argument.c_str()});
    const TensorType& type = parameter.type();
    const bool converts = is_floating(value.dtype()) && is_floating(type.dtype);
    if (value.shape() != type.shape || (value.dtype() != type.dtype && !converts)) {
      const std::string dtype(dtype_name(type.dtype));
      throw InvalidArgument("[load_state_dict] " + name + " is " + value.type().to_string() +
                            ", and the module's is " + type.to_string() +
                            (value.shape() == type.shape
                                 ? "; convert it: state[\"" + name + "\"].to(\"" + dtype + "\")"
                                 : "; give the module the extents that the weights have, or leave "
                                   "them out of the state, with strict=False"));
    }
    pairs.emplace_back(parameter, std::move(value));
  }
  if (strict && !missing.empty()) {
    throw InvalidArgument("[load_state_dict] the state has no " + list_of(missing) +
                          "; strict=False leaves them as they are");
  }
  const bool has_state = std::ranges::all_of(unexpected, [](const std::string& name) {
    return name.starts_with("optimizer.") || name.starts_with("loss_scale.");
  });
  if (strict && !unexpected.empty() && has_state) {
    throw InvalidArgument("[load_state_dict] the state also has that of an optimizer, " +
                          list_of(unexpected) +
                          "; strict=False leaves it out, and Trainer.load or "
                          "pm.train.load_checkpoint reads all of a file");
  }
  if (strict && !unexpected.empty()) {
    throw InvalidArgument("[load_state_dict] the module has no " + list_of(unexpected) +
                          "; build() it first if its extents are not known yet, or leave them out "
                          "with strict=False");
  }
  const Device device = as_device(nb::none(), {"load_state_dict", "device"});
  const Unlocked unlocked;
  // Memory first: what is refused leaves the module as it was.
  std::vector<Tensor> fresh;
  for (const auto& [parameter, value] : pairs) {
    const TensorType type = parameter.type();
    fresh.push_back(parameter.has_data()
                        ? Tensor()
                        : Tensor::empty(type.shape, type.dtype, device,
                                        {.tag = Tag::parameters, .label = parameter.name()}));
  }
  require_staging(pairs, device);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [parameter, value] = pairs[i];
    if (fresh[i].defined()) parameter.set_tensor(fresh[i]);
    const Tensor& to = parameter.tensor();
    parameter.assign(
        ops::cast(value.device() == to.device() ? value : value.to(to.device()), to.dtype()));
  }
  return {missing, unexpected};
}

}  // namespace

void bind_module_tree(nb::class_<nn::Module, PyModule>& cls) {
  cls.def(
         "named_parameters", [](const nn::Module& self) { return named(self, self.parameters()); },
         nb::sig("def named_parameters(self) -> list[tuple[str, Parameter]]"),
         "(name, parameter) of all parameters, those of modules within included; names are dotted "
         "and begin at this module.\n\n"
         ">>> for name, parameter in net.named_parameters():\n"
         "...     print(name, parameter.shape)")
      .def(
          "named_buffers", [](const nn::Module& self) { return named(self, self.buffers()); },
          nb::sig("def named_buffers(self) -> list[tuple[str, Parameter]]"),
          "(name, buffer) of everything that is saved but not trained, by dotted name.")
      .def(
          "children",
          [](const nn::Module& self) {
            nb::list out;
            children(self, out, false);
            return out;
          },
          nb::sig("def children(self) -> list[Module]"), "The modules directly within it.")
      .def(
          "named_children",
          [](const nn::Module& self) {
            nb::list out;
            children(self, out, true);
            return out;
          },
          nb::sig("def named_children(self) -> list[tuple[str, Module]]"),
          "The modules directly within it, with their names.")
      .def(
          "modules",
          [](const nb::object& self) {
            nb::list out;
            std::set<PyObject*> seen;
            modules(self, "", seen, out, false);
            return out;
          },
          nb::sig("def modules(self) -> list[Module]"), "This module and all within it, each once.")
      .def(
          "named_modules",
          [](const nb::object& self) {
            nb::list out;
            std::set<PyObject*> seen;
            modules(self, "", seen, out, true);
            return out;
          },
          nb::sig("def named_modules(self) -> list[tuple[str, Module]]"),
          "This module and all within it, each once, with their dotted names; its own is empty.")
      .def_prop_ro("is_built", &nn::Module::is_built,
                   "False while a layer does not know what comes in, and so has no parameters yet.")
      .def("state_dict", &state_dict, nb::sig("def state_dict(self) -> dict[str, Tensor]"),
           "Parameters and buffers by name. The tensors share the module's memory and change as it "
           "is trained: clone() those to keep.\n\n"
           ">>> pm.save_safetensors(\"net.safetensors\", net.state_dict())")
      .def("load_state_dict", &load_state_dict, nb::arg("state"), nb::arg("strict") = true,
           nb::sig("def load_state_dict(self, state: typing.Mapping[str, typing.Any], strict: bool "
                   "= True) -> tuple[list[str], list[str]]"),
           "Copies values into the parameters and buffers of the same names: tensors, or arrays of "
           "NumPy and PyTorch. Gives the names "
           "that the state lacks and those that the module "
           "lacks; with `strict` either is an error.\n\n"
           ">>> net.load_state_dict(pm.load_safetensors(\"net.safetensors\"))");
}

}  // namespace plimsoll::python
