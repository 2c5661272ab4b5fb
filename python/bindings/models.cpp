// Models by name.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <plimsoll/nn/models.h>

#include "bind.h"
#include "convert.h"
#include "nn_module.h"

namespace plimsoll::python {

void bind_models(nb::module_& m) {
  nb::class_<nn::Model, nn::Module>(m, "Model", "Any module as a value: what factories return.");
  m.def(
      "make_model",
      [](nb::handle name, nb::handle classes, nb::handle channels, nb::handle size,
         bool channels_last) {
        return nn::make_model(as_text(name, {"make_model", "name"}),
                              {as_int(classes, {"make_model", "classes"}),
                               as_int(channels, {"make_model", "channels"}),
                               as_int(size, {"make_model", "size"}), channels_last});
      },
      nb::arg("name"), nb::kw_only(), nb::arg("classes") = 0, nb::arg("channels") = 0,
      nb::arg("size") = 0, nb::arg("channels_last") = false,
      nb::sig("def make_model(name: str, *, classes: int = 0, channels: int = 0, size: int = 0, "
              "channels_last: bool = False) -> Model"),
      "A model by name, without data; 0 means the model's own default. list_models() has the names."
      "\n\n>>> pm.nn.make_model(\"resnet18\", classes=10, size=64)");
  m.def(
      "list_models",
      [] {
        nb::dict names;
        for (const nn::ModelInfo& each : nn::list_models()) {
          names[nb::str(each.name.data(), each.name.size())] =
              nb::str(each.summary.data(), each.summary.size());
        }
        return names;
      },
      nb::sig("def list_models() -> dict[str, str]"),
      "Every model there is by name, and what it is.");
  m.def(
      "mlp",
      [](nb::handle in, nb::handle hidden, nb::handle classes) {
        return nn::mlp({as_int(in, {"mlp", "in_features"}), as_ints(hidden, {"mlp", "hidden"}),
                        as_int(classes, {"mlp", "classes"})});
      },
      nb::kw_only(), nb::arg("in_features") = 784, nb::arg("hidden") = nb::make_tuple(256, 256),
      nb::arg("classes") = 10,
      nb::sig(
          "def mlp(*, in_features: int = 784, hidden: typing.Sequence[int] = (256, 256), classes: "
          "int = 10) -> Model"),
      "Dense layers with relu between them.");
  m.def(
      "lenet",
      [](nb::handle classes, nb::handle channels, nb::handle size) {
        return nn::lenet({as_int(classes, {"lenet", "classes"}),
                          as_int(channels, {"lenet", "channels"}),
                          as_int(size, {"lenet", "size"})});
      },
      nb::kw_only(), nb::arg("classes") = 10, nb::arg("channels") = 1, nb::arg("size") = 28,
      nb::sig("def lenet(*, classes: int = 10, channels: int = 1, size: int = 28) -> Model"),
      "LeCun et al. 1998.");
  m.def(
      "gpt2",
      [](nb::handle vocabulary, nb::handle context, nb::handle features, nb::handle layers,
         nb::handle heads, nb::handle dropout) {
        return nn::gpt2(
            {as_int(vocabulary, {"gpt2", "vocabulary"}), as_int(context, {"gpt2", "context"}),
             as_int(features, {"gpt2", "features"}), as_int(layers, {"gpt2", "layers"}),
             as_int(heads, {"gpt2", "heads"}), as_double(dropout, {"gpt2", "dropout"})});
      },
      nb::kw_only(), nb::arg("vocabulary") = 50257, nb::arg("context") = 1024,
      nb::arg("features") = 768, nb::arg("layers") = 12, nb::arg("heads") = 12,
      nb::arg("dropout") = 0.1,
      nb::sig(
          "def gpt2(*, vocabulary: int = 50257, context: int = 1024, features: int = 768, layers: "
          "int = 12, heads: int = 12, dropout: float = 0.1) -> Model"),
      "Radford et al. 2019. Fed with ids [n, tokens]; targets are the ids that follow each.");
}

}  // namespace plimsoll::python
