// The layers.
#include <nanobind/stl/string.h>

#include <plimsoll/base/text.h>
#include <plimsoll/nn/nn.h>

#include "bind.h"
#include "given.h"
#include "nn_module.h"
#include "windows.h"

namespace plimsoll::python {
namespace {

/// A layer without arguments.
template <typename Layer>
void plain(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Layer, nn::Module>(m, name, doc).def(nb::init<>());
}

/// Puts Python's `modules` into `self`, whose attribute keeps those that are written in Python.
void append(nb::handle self, nb::handle module) {
  nb::cast<nn::Sequential&>(self).append(as_module(module, {"Sequential", "a module"}));
  nb::cast<nb::list>(self.attr("_modules")).append(module);
}

#define PLIMSOLL_INTS "int | typing.Sequence[int]"

template <typename Pool>
void pooling(nb::module_& m, const char* name, const char* doc) {
  define_class<Pool, nn::Module>(
      m, name,
      "size: " PLIMSOLL_INTS ", *, stride: " PLIMSOLL_INTS " = 0, padding: " PLIMSOLL_INTS
      " | str = 0, layout: str = 'channels_first'",
      doc, [](Pool* self, const Given& given) {
        new (self)
            Pool(as_pair(given, "size"),
                 nn::Pool2DOptions{as_pair(given, "stride"), as_window_padding(given, "padding"),
                                   as_layout(given.value("layout"), given.where("layout"))});
      });
}

}  // namespace

void bind_layers(nb::module_& m) {
  plain<nn::Flatten>(m, "Flatten", "[n, everything else]");
  plain<nn::ReLU>(m, "ReLU", "max(x, 0)");
  plain<nn::Tanh>(m, "Tanh", "The hyperbolic tangent.");
  plain<nn::Sigmoid>(m, "Sigmoid", "1 / (1 + exp(-x))");
  plain<nn::SiLU>(m, "SiLU", "x * sigmoid(x)");
  nb::class_<nn::GELU, nn::Module>(m, "GELU", "x times the normal distribution's share below x.")
      .def(
          "__init__",
          [](nn::GELU* self, bool approximate) {
            new (self) nn::GELU(approximate ? ops::Gelu::tanh : ops::Gelu::exact);
          },
          nb::kw_only(), nb::arg("approximate") = false);
  nb::class_<nn::Dropout, nn::Module>(m, "Dropout",
                                      "In training, sets each element to 0 with probability `rate` "
                                      "and divides the others by 1 - rate.")
      .def(
          "__init__",
          [](nn::Dropout* self, nb::handle rate) {
            new (self) nn::Dropout(as_double(rate, {"Dropout", "rate"}));
          },
          nb::arg("rate"), nb::sig("def __init__(self, rate: float) -> None"));
  define_class<nn::Dense, nn::Module>(
      m, "Dense",
      "out: int, *, in_features: int = 0, bias: bool = True, transposed: bool = False, init: Init "
      "| "
      "float | str | None = None, form: str = 'plain'",
      "x [..., in] times a weight, plus a bias. What comes in is inferred from the first input. "
      "`form` is \"plain\", \"weight_norm\" or \"spectral_norm\".\n\n>>> pm.nn.Dense(10)",
      [](nn::Dense* self, const Given& given) {
        nn::DenseOptions options;
        options.in = given.integer("in_features");
        options.bias = given.flag("bias");
        options.transposed = given.flag("transposed");
        options.init = as_optional_init(given.value("init"), given.where("init"));
        options.form = as_weight_form(given, "form");
        new (self) nn::Dense(given.integer("out"), options);
      })
      .def_prop_ro("weight", [](const nn::Dense& self) { return self.weight(); });
  nb::class_<nn::Embedding, nn::Module>(m, "Embedding", "Rows of a table at ids.")
      .def(
          "__init__",
          [](nn::Embedding* self, nb::handle count, nb::handle features, nb::handle deviation) {
            new (self) nn::Embedding(as_int(count, {"Embedding", "count"}),
                                     as_int(features, {"Embedding", "features"}),
                                     as_double(deviation, {"Embedding", "deviation"}));
          },
          nb::arg("count"), nb::arg("features"), nb::kw_only(), nb::arg("deviation") = 1.0,
          nb::sig(
              "def __init__(self, count: int, features: int, *, deviation: float = 1.0) -> None"))
      .def_prop_ro("weight", [](const nn::Embedding& self) { return self.weight(); });
  define_class<nn::Conv2D, nn::Module>(
      m, "Conv2D",
      "out: int, size: " PLIMSOLL_INTS ", *, in_channels: int = 0, stride: " PLIMSOLL_INTS
      " = 1, padding: " PLIMSOLL_INTS " | str = 0, dilation: " PLIMSOLL_INTS
      " = 1, groups: int = 1, bias: bool = True, layout: str = 'channels_first', init: Init | "
      "float | str | "
      "None = None, form: str = 'plain'",
      "Convolution with windows of size x size, or (height, width). Channels that come in are "
      "inferred from the first input. Padding is a number, (down, across) or \"same\".\n\n"
      ">>> pm.nn.Conv2D(32, 3, padding=\"same\")",
      [](nn::Conv2D* self, const Given& given) {
        nn::Conv2DOptions options;
        options.in = given.integer("in_channels");
        options.stride = as_pair(given, "stride");
        options.padding = as_window_padding(given, "padding");
        options.dilation = as_pair(given, "dilation");
        options.groups = given.integer("groups");
        options.bias = given.flag("bias");
        options.layout = as_layout(given.value("layout"), given.where("layout"));
        options.init = as_optional_init(given.value("init"), given.where("init"));
        options.form = as_weight_form(given, "form");
        new (self) nn::Conv2D(given.integer("out"), as_pair(given, "size"), options);
      })
      .def_prop_ro("weight", [](const nn::Conv2D& self) { return self.weight(); });
  define_class<nn::ConvTranspose2D, nn::Module>(
      m, "ConvTranspose2D",
      "out: int, size: " PLIMSOLL_INTS ", *, in_channels: int = 0, stride: " PLIMSOLL_INTS
      " = 0, padding: " PLIMSOLL_INTS " = 0, output_padding: " PLIMSOLL_INTS
      " = 0, dilation: " PLIMSOLL_INTS " = 1, groups: int = 1, bias: bool = True",
      "Transposed convolution, which makes pictures larger. A stride of 0 is the window's "
      "size.",
      [](nn::ConvTranspose2D* self, const Given& given) {
        new (self) nn::ConvTranspose2D(
            given.integer("out"), as_pair(given, "size"),
            {given.integer("in_channels"), as_pair(given, "stride"), as_pair(given, "padding"),
             as_pair(given, "output_padding"), as_pair(given, "dilation"), given.integer("groups"),
             given.flag("bias")});
      });
  pooling<nn::MaxPool2D>(m, "MaxPool2D", "The largest of each window.");
  pooling<nn::AvgPool2D>(m, "AvgPool2D", "The mean of each window.");
  nb::class_<nn::GlobalAvgPool2D, nn::Module>(m, "GlobalAvgPool2D",
                                              "The mean over height and width: [n, channels].")
      .def(
          "__init__",
          [](nn::GlobalAvgPool2D* self, nb::handle layout) {
            new (self) nn::GlobalAvgPool2D(as_layout(layout, {"GlobalAvgPool2D", "layout"}));
          },
          nb::kw_only(), nb::arg("layout") = "channels_first",
          nb::sig("def __init__(self, *, layout: str = 'channels_first') -> None"));
  nb::class_<nn::BatchNorm2D, nn::Module>(
      m, "BatchNorm2D",
      "Normalises each channel, by the batch in training and by running statistics "
      "in evaluation.")
      .def(
          "__init__",
          [](nn::BatchNorm2D* self, nb::handle channels, nb::handle epsilon, nb::handle momentum,
             nb::handle layout) {
            new (self) nn::BatchNorm2D({as_int(channels, {"BatchNorm2D", "channels"}),
                                        as_double(epsilon, {"BatchNorm2D", "epsilon"}),
                                        as_double(momentum, {"BatchNorm2D", "momentum"}),
                                        as_layout(layout, {"BatchNorm2D", "layout"})});
          },
          nb::kw_only(), nb::arg("channels") = 0, nb::arg("epsilon") = 1e-5,
          nb::arg("momentum") = 0.1, nb::arg("layout") = "channels_first",
          nb::sig(
              "def __init__(self, *, channels: int = 0, epsilon: float = 1e-05, momentum: float = "
              "0.1, layout: str = 'channels_first') -> None"));
  nb::class_<nn::LayerNorm, nn::Module>(m, "LayerNorm", "Normalises over the last dimension.")
      .def(
          "__init__",
          [](nn::LayerNorm* self, nb::handle features, nb::handle epsilon) {
            new (self) nn::LayerNorm({as_int(features, {"LayerNorm", "features"}),
                                      as_double(epsilon, {"LayerNorm", "epsilon"})});
          },
          nb::kw_only(), nb::arg("features") = 0, nb::arg("epsilon") = 1e-5,
          nb::sig("def __init__(self, *, features: int = 0, epsilon: float = 1e-05) -> None"));
  nb::class_<nn::RMSNorm, nn::Module>(m, "RMSNorm", "x / sqrt(mean(x * x) + epsilon) * weight")
      .def(
          "__init__",
          [](nn::RMSNorm* self, nb::handle features, nb::handle epsilon) {
            new (self) nn::RMSNorm({as_int(features, {"RMSNorm", "features"}),
                                    as_double(epsilon, {"RMSNorm", "epsilon"})});
          },
          nb::kw_only(), nb::arg("features") = 0, nb::arg("epsilon") = 1e-6,
          nb::sig("def __init__(self, *, features: int = 0, epsilon: float = 1e-06) -> None"));
  nb::class_<nn::Sequential, nn::Module>(
      m, "Sequential",
      "Modules that run one after the other, named \"0\", \"1\", ...\n\n"
      ">>> pm.nn.Sequential(pm.nn.Dense(128), pm.nn.ReLU(), pm.nn.Dense(10))")
      .def(
          "__init__",
          [](nb::pointer_and_handle<nn::Sequential> v, nb::args modules) {
            new (v.p) nn::Sequential();
            nb::inst_mark_ready(v.h);
            nb::setattr(v.h, "_modules", nb::list());
            for (nb::handle each : modules) append(v.h, each);
          },
          nb::sig("def __init__(self, *modules: Module) -> None"))
      .def("append", &append, nb::arg("module"),
           nb::sig("def append(self, module: Module) -> None"))
      .def("__len__", [](const nn::Sequential& self) { return self.children().size(); })
      .def(
          "__getitem__",
          [](nb::handle self, nb::handle index) {
            const nb::list modules = self.attr("_modules");
            const std::int64_t at = as_int(index, {"Sequential", "the index"});
            const std::int64_t count = length(modules);
            if (at < -count || at >= count) {
              throw nb::index_error(("[Sequential] there is no module " + std::to_string(at) +
                                     "; it has " + counted(count, "module"))
                                        .c_str());
            }
            return nb::object(modules[static_cast<std::size_t>(at < 0 ? at + count : at)]);
          },
          nb::sig("def __getitem__(self, index: int, /) -> Module"));
}

}  // namespace plimsoll::python
