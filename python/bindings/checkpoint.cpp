// safetensors files, to and from dicts, and modules' weights.
#include <plimsoll/train/checkpoint.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

#include "bind.h"
#include "nn_module.h"
#include "process.h"

namespace plimsoll::python {

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
          named.push_back({as_text(name, {"save_safetensors", "a name"}),
                           as_tensor(tensor, {"save_safetensors", "a tensor"})});
        }
        const Unlocked unlocked;
        train::save_safetensors(file, named, metadata);
      },
      nb::arg("path"), nb::arg("tensors"), nb::kw_only(), nb::arg("metadata") = nb::dict(),
      nb::sig("def save_safetensors(path: str | os.PathLike[str], tensors: dict[str, Tensor], *, "
              "metadata: dict[str, str] = {}) -> None"),
      "Writes all of the dict or nothing.\n\n"
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
