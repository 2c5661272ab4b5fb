// safetensors files, to and from dicts, and modules' weights.
#include <plimsoll/train/checkpoint.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

#include "bind.h"
#include "exchange.h"
#include "nn_module.h"
#include "process.h"

namespace plimsoll::python {
namespace {

/// nullptr for None. A fresh one is told what it will change, so that it has state to read or
/// write.
optim::Optimizer* optimizer_of(nb::handle value, const nn::Module& module, const char* who) {
  if (value.is_none()) return nullptr;
  optim::Optimizer* found = nullptr;
  if (!nb::try_cast(value, found) || found == nullptr) {
    wrong_type({who, "optimizer"}, value, "it must be an optimizer: pm.optim.adamw(1e-3)");
  }
  if (found->parameters().empty()) found->attach(module);
  return found;
}

}  // namespace

void bind_checkpoint(nb::module_& m) {
  m.def(
      "save_safetensors",
      [](nb::handle path, nb::handle tensors, const std::map<std::string, std::string>& metadata) {
        const std::string file = as_path(path, {"save_safetensors", "path"});
        if (PyDict_Check(tensors.ptr()) == 0) {
          wrong_type({"save_safetensors", "tensors"}, tensors,
                     "it must be a dict of tensors by name");
        }
        std::vector<train::NamedTensor> named;
        for (const auto& [name, tensor] : nb::borrow<nb::dict>(tensors)) {
          const std::string key = as_text(name, {"save_safetensors", "a name"});
          const std::string argument = "tensors[\"" + key + "\"]";
          named.push_back(
              {key, as_tensor_or_array(tensor, {"save_safetensors", argument.c_str()})});
        }
        const Unlocked unlocked;
        train::save_safetensors(file, named, metadata);
      },
      nb::arg("path"), nb::arg("tensors"), nb::kw_only(), nb::arg("metadata") = nb::dict(),
      nb::sig(
          "def save_safetensors(path: str | os.PathLike[str], tensors: dict[str, typing.Any], *, "
          "metadata: dict[str, str] = {}) -> None"),
      "Writes tensors and arrays by name: all of the dict, or nothing.\n\n"
      ">>> pm.save_safetensors(\"weights.safetensors\", {\"w\": pm.ones((2, 3))})");
  m.def(
      "load_safetensors",
      [](nb::handle path, nb::handle device) {
        const std::string name = as_path(path, {"load_safetensors", "path"});
        const Device where = as_device(device, {"load_safetensors", "device"});
        std::vector<std::pair<std::string, Tensor>> read;
        {
          const Unlocked unlocked;
          const train::SafetensorsFile file(name);
          for (const auto& entry : file.header().entries) {
            read.emplace_back(entry.name, file.read(entry.name, where, {.label = entry.name}));
          }
        }
        nb::dict tensors;
        for (auto& [key, tensor] : read) tensors[key.c_str()] = std::move(tensor);
        return tensors;
      },
      nb::arg("path"), nb::arg("device").none() = nb::none(),
      nb::sig("def load_safetensors(path: str | os.PathLike[str], device: Device | Session | str | "
              "None "
              "= None) -> dict[str, Tensor]"),
      "All tensors of a file, by name.");
  m.def(
      "save_checkpoint",
      [](nb::handle path, nb::handle module, nb::handle optimizer,
         const std::map<std::string, std::string>& metadata) {
        const std::string file = as_path(path, {"save_checkpoint", "path"});
        const auto given = as_module(module, {"save_checkpoint", "module"});
        optim::Optimizer* const by = optimizer_of(optimizer, *given, "save_checkpoint");
        const Unlocked unlocked;
        train::save_checkpoint(file, {.module = given.get(), .optimizer = by}, metadata);
      },
      nb::arg("path"), nb::arg("module"), nb::arg("optimizer").none() = nb::none(), nb::kw_only(),
      nb::arg("metadata") = nb::dict(),
      nb::sig("def save_checkpoint(path: str | os.PathLike[str], module: Module, optimizer: "
              "Optimizer | None = None, *, metadata: dict[str, str] = {}) -> None"),
      "Writes a module's weights and, if it is given, the optimizer's state, for loops of your "
      "own: "
      "a safetensors file, which appears as a whole or not at all.\n\n"
      ">>> pm.train.save_checkpoint(\"run.safetensors\", net, optimizer, metadata={\"epoch\": "
      "\"3\"})");
  m.def(
      "load_checkpoint",
      [](nb::handle path, nb::handle module, nb::handle optimizer, nb::handle device, bool strict,
         const std::string& prefix) {
        const std::string file = as_path(path, {"load_checkpoint", "path"});
        const auto given = as_module(module, {"load_checkpoint", "module"});
        const Device where = as_device(device, {"load_checkpoint", "device"});
        optim::Optimizer* const by = optimizer_of(optimizer, *given, "load_checkpoint");
        const Unlocked unlocked;
        return train::load_checkpoint(file, {.module = given.get(), .optimizer = by}, where,
                                      {strict, prefix});
      },
      nb::arg("path"), nb::arg("module"), nb::arg("optimizer").none() = nb::none(), nb::kw_only(),
      nb::arg("device").none() = nb::none(), nb::arg("strict") = true, nb::arg("prefix") = "",
      nb::sig("def load_checkpoint(path: str | os.PathLike[str], module: Module, optimizer: "
              "Optimizer | None = None, *, device: Device | Session | str | None = None, strict: "
              "bool = True, prefix: str = '') -> dict[str, str]"),
      "Reads what save_checkpoint or Trainer.save wrote, or other weights whose names fit; "
      "gives the metadata. build() a module first whose extents are not known yet.");
  m.def(
      "_save_module",
      [](nb::handle module, nb::handle path) {
        const auto given = as_module(module, {"save", "module"});
        const std::string file = as_path(path, {"save", "path"});
        const Unlocked unlocked;
        train::save_checkpoint(file, {.module = given.get()});
      },
      nb::arg("module"), nb::arg("path"),
      nb::sig("def _save_module(module: Module, path: typing.Any) -> None"));
  m.def(
      "_load_module",
      [](nb::handle module, nb::handle path, nb::handle device, bool strict,
         const std::string& prefix) {
        const auto given = as_module(module, {"load", "module"});
        const std::string file = as_path(path, {"load", "path"});
        const Device where = as_device(device, {"load", "device"});
        const Unlocked unlocked;
        return train::load_checkpoint(file, {.module = given.get()}, where, {strict, prefix});
      },
      nb::arg("module"), nb::arg("path"), nb::arg("device").none(), nb::arg("strict"),
      nb::arg("prefix"),
      nb::sig(
          "def _load_module(module: Module, path: typing.Any, device: typing.Any, strict: bool, "
          "prefix: str) -> dict[str, str]"));
}

}  // namespace plimsoll::python
