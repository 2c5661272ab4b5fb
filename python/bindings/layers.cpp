// The layers.
#include <nanobind/stl/string.h>

#include <plimsoll/nn/nn.h>

#include "bind.h"
#include "nn_module.h"

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

nn::Pool2DOptions pool(const char* who, nb::handle stride, nb::handle padding, nb::handle layout) {
  return {as_int(stride, {who, "stride"}), as_int(padding, {who, "padding"}),
          as_layout(layout, {who, "layout"})};
}

template <typename Pool>
void pooling(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Pool, nn::Module>(m, name, doc)
      .def(
          "__init__",
          [name](Pool* self, nb::handle size, nb::handle stride, nb::handle padding,
                 nb::handle layout) {
            new (self) Pool(as_int(size, {name, "size"}), pool(name, stride, padding, layout));
          },
          nb::arg("size"), nb::kw_only(), nb::arg("stride") = 0, nb::arg("padding") = 0,
          nb::arg("layout") = "nchw",
          nb::sig(
              "def __init__(self, size: int, *, stride: int = 0, padding: int = 0, layout: str = "
              "'nchw') -> None"));
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
                                      "In training each element is 0 with probability `rate`.")
      .def(
          "__init__",
          [](nn::Dropout* self, nb::handle rate) {
            new (self) nn::Dropout(as_double(rate, {"Dropout", "rate"}));
          },
          nb::arg("rate"), nb::sig("def __init__(self, rate: float) -> None"));
  nb::class_<nn::Dense, nn::Module>(m, "Dense",
                                    "x [..., in] times a weight, plus a bias. What comes in is "
                                    "inferred from the first input.\n\n>>> pm.nn.Dense(10)")
      .def(
          "__init__",
          [](nn::Dense* self, nb::handle out, nb::handle in, bool bias, bool transposed,
             nb::handle init) {
            new (self) nn::Dense(as_int(out, {"Dense", "out"}),
                                 {as_int(in, {"Dense", "in_features"}), bias, transposed,
                                  as_optional_init(init, {"Dense", "init"})});
          },
          nb::arg("out"), nb::kw_only(), nb::arg("in_features") = 0, nb::arg("bias") = true,
          nb::arg("transposed") = false, nb::arg("init").none() = nb::none(),
          nb::sig("def __init__(self, out: int, *, in_features: int = 0, bias: bool = True, "
                  "transposed: bool = False, init: Init | float | str | None = None) -> None"))
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
  nb::class_<nn::Conv2D, nn::Module>(m, "Conv2D",
                                     "Convolution with windows of size x size. Channels that come "
                                     "in are inferred from the first input.\n\n"
                                     ">>> pm.nn.Conv2D(32, 3, padding=1)")
      .def(
          "__init__",
          [](nn::Conv2D* self, nb::handle out, nb::handle size, nb::handle in, nb::handle stride,
             nb::handle padding, nb::handle dilation, nb::handle groups, bool bias,
             nb::handle layout, nb::handle init) {
            nn::Conv2DOptions options;
            options.in = as_int(in, {"Conv2D", "in_channels"});
            options.stride = as_int(stride, {"Conv2D", "stride"});
            options.padding = as_int(padding, {"Conv2D", "padding"});
            options.dilation = as_int(dilation, {"Conv2D", "dilation"});
            options.groups = as_int(groups, {"Conv2D", "groups"});
            options.bias = bias;
            options.layout = as_layout(layout, {"Conv2D", "layout"});
            options.init = as_optional_init(init, {"Conv2D", "init"});
            new (self) nn::Conv2D(as_int(out, {"Conv2D", "out"}), as_int(size, {"Conv2D", "size"}),
                                  options);
          },
          nb::arg("out"), nb::arg("size"), nb::kw_only(), nb::arg("in_channels") = 0,
          nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
          nb::arg("groups") = 1, nb::arg("bias") = true, nb::arg("layout") = "nchw",
          nb::arg("init").none() = nb::none(),
          nb::sig(
              "def __init__(self, out: int, size: int, *, in_channels: int = 0, stride: int = 1, "
              "padding: int = 0, dilation: int = 1, groups: int = 1, bias: bool = True, layout: "
              "str = 'nchw', init: Init | float | str | None = None) -> None"))
      .def_prop_ro("weight", [](const nn::Conv2D& self) { return self.weight(); });
  nb::class_<nn::ConvTranspose2D, nn::Module>(m, "ConvTranspose2D",
                                              "Makes pictures `stride` times larger.")
      .def(
          "__init__",
          [](nn::ConvTranspose2D* self, nb::handle out, nb::handle stride, nb::handle in) {
            new (self) nn::ConvTranspose2D(as_int(out, {"ConvTranspose2D", "out"}),
                                           as_int(stride, {"ConvTranspose2D", "stride"}),
                                           as_int(in, {"ConvTranspose2D", "in_channels"}));
          },
          nb::arg("out"), nb::arg("stride"), nb::kw_only(), nb::arg("in_channels") = 0,
          nb::sig("def __init__(self, out: int, stride: int, *, in_channels: int = 0) -> None"));
  pooling<nn::MaxPool2D>(m, "MaxPool2D", "The largest of each window.");
  pooling<nn::AvgPool2D>(m, "AvgPool2D", "The mean of each window.");
  nb::class_<nn::GlobalAvgPool2D, nn::Module>(m, "GlobalAvgPool2D",
                                              "The mean over height and width: [n, channels].")
      .def(
          "__init__",
          [](nn::GlobalAvgPool2D* self, nb::handle layout) {
            new (self) nn::GlobalAvgPool2D(as_layout(layout, {"GlobalAvgPool2D", "layout"}));
          },
          nb::kw_only(), nb::arg("layout") = "nchw",
          nb::sig("def __init__(self, *, layout: str = 'nchw') -> None"));
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
          nb::arg("momentum") = 0.1, nb::arg("layout") = "nchw",
          nb::sig(
              "def __init__(self, *, channels: int = 0, epsilon: float = 1e-05, momentum: float = "
              "0.1, layout: str = 'nchw') -> None"));
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
      "Modules in a row, named \"0\", \"1\", ...\n\n"
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
          [](nb::handle self, nb::handle index) { return self.attr("_modules")[index]; },
          nb::sig("def __getitem__(self, index: int, /) -> Module"));
}

}  // namespace plimsoll::python
