// Layers over volumes.
#include <plimsoll/nn/volume.h>

#include "bind_parts.h"
#include "given.h"
#include "nn_module.h"

namespace plimsoll::python {
namespace {

/// One number for all, or (depth, down, across).
nn::Triple as_triple(const Given& given, const char* name) {
  const std::vector<std::int64_t> ints = given.integers(name);
  if (ints.size() == 1) return {ints[0]};
  if (ints.size() == 3) return {ints[0], ints[1], ints[2]};
  wrong_value(given.where(name), given.value(name),
              "it must be one integer, or three: (depth, down, across)");
}

/// The same, or "same".
nn::VolumePadding as_volume_padding(const Given& given, const char* name) {
  if (PyUnicode_Check(given.value(name).ptr()) != 0) {
    given.choice(name, {"same"});
    return nn::kSame;
  }
  const nn::Triple triple = as_triple(given, name);
  return {triple.depth, triple.down, triple.across};
}

template <typename Pool>
void pool3d(nb::module_& m, const char* name, const char* doc) {
  define_class<Pool, nn::Module>(
      m, name,
      "size: int | typing.Sequence[int], *, stride: int | typing.Sequence[int] = 0, padding: int | "
      "typing.Sequence[int] | str = 0",
      doc, [](Pool* self, const Given& given) {
        new (self) Pool(
            as_triple(given, "size"),
            nn::Pool3DOptions{as_triple(given, "stride"), as_volume_padding(given, "padding")});
      });
}

void bind_convolutions(nb::module_& m) {
  define_class<nn::Conv3D, nn::Module>(
      m, "Conv3D",
      "out: int, size: int | typing.Sequence[int], *, in_channels: int = 0, stride: int | "
      "typing.Sequence[int] = 1, padding: int | typing.Sequence[int] | str = 0, dilation: int | "
      "typing.Sequence[int] = 1, groups: int = 1, bias: bool = True, init: Init | float | str | "
      "None = None",
      "Convolution over volumes [n, channels, depth, height, width]. Sizes are one number or "
      "(depth, down, across); padding may be \"same\".\n\n"
      ">>> pm.nn.Conv3D(16, (3, 3, 3), padding=\"same\")",
      [](nn::Conv3D* self, const Given& given) {
        nn::Conv3DOptions options;
        options.in = given.integer("in_channels");
        options.stride = as_triple(given, "stride");
        options.padding = as_volume_padding(given, "padding");
        options.dilation = as_triple(given, "dilation");
        options.groups = given.integer("groups");
        options.bias = given.flag("bias");
        options.init = as_optional_init(given.value("init"), given.where("init"));
        new (self) nn::Conv3D(given.integer("out"), as_triple(given, "size"), options);
      });
  define_class<nn::ConvTranspose3D, nn::Module>(
      m, "ConvTranspose3D",
      "out: int, size: int | typing.Sequence[int], *, in_channels: int = 0, stride: int | "
      "typing.Sequence[int] = 0, padding: int | typing.Sequence[int] = 0, output_padding: int | "
      "typing.Sequence[int] = 0, dilation: int | typing.Sequence[int] = 1, groups: int = 1, bias: "
      "bool = True",
      "Transposed convolution, which makes volumes larger. A stride of 0 is the window's "
      "size.",
      [](nn::ConvTranspose3D* self, const Given& given) {
        new (self) nn::ConvTranspose3D(
            given.integer("out"), as_triple(given, "size"),
            {given.integer("in_channels"), as_triple(given, "stride"), as_triple(given, "padding"),
             as_triple(given, "output_padding"), as_triple(given, "dilation"),
             given.integer("groups"), given.flag("bias")});
      });
}

}  // namespace

void bind_volumes(nb::module_& m) {
  bind_convolutions(m);
  pool3d<nn::MaxPool3D>(m, "MaxPool3D",
                        "The largest in each window of volumes [n, channels, depth, height, "
                        "width].\n\n>>> pm.nn.MaxPool3D(2)");
  pool3d<nn::AvgPool3D>(m, "AvgPool3D", "The mean of each window of volumes, padding not counted.");
  nb::class_<nn::GlobalAvgPool3D, nn::Module>(
      m, "GlobalAvgPool3D", "The mean over depth, height and width: [n, channels].")
      .def(nb::init<>());
  nb::class_<nn::GlobalMaxPool3D, nn::Module>(
      m, "GlobalMaxPool3D", "The largest over depth, height and width: [n, channels].")
      .def(nb::init<>());
}

}  // namespace plimsoll::python
