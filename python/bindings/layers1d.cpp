// Layers over sequences, depthwise convolutions, padding and upsampling.
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/padding.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/upsampling.h>

#include "bind_parts.h"
#include "given.h"
#include "nn_module.h"
#include "windows.h"

namespace plimsoll::python {
namespace {

template <typename Pool>
void pool1d(nb::module_& m, const char* name, const char* doc) {
  define_class<Pool, nn::Module>(
      m, name, "size: int, *, stride: int = 0, padding: int = 0", doc,
      [](Pool* self, const Given& given) {
        new (self) Pool(given.integer("size"),
                        nn::Pool1DOptions{given.integer("stride"), given.integer("padding")});
      });
}

nn::DepthwiseConv2DOptions depthwise(const Given& given) {
  nn::DepthwiseConv2DOptions options;
  options.in = given.integer("in_channels");
  options.multiplier = given.integer("multiplier");
  options.stride = as_pair(given, "stride");
  options.padding = as_window_padding(given, "padding");
  options.dilation = as_pair(given, "dilation");
  options.bias = given.flag("bias");
  options.layout = as_layout(given.value("layout"), given.where("layout"));
  options.init = as_optional_init(given.value("init"), given.where("init"));
  return options;
}

nn::DepthwiseConv1DOptions depthwise1d(const Given& given) {
  return {given.integer("in_channels"), given.integer("multiplier"),
          given.integer("stride"),      as_sequence_padding(given, "padding"),
          given.integer("dilation"),    given.flag("bias")};
}

nn::PadMode as_mode(const Given& given) {
  return static_cast<nn::PadMode>(
      given.choice("mode", {"zeros", "reflect", "replicate", "circular"}));
}

#define PLIMSOLL_DEPTHWISE                                                                    \
  "in_channels: int = 0, multiplier: int = 1, stride: int | typing.Sequence[int] = 1, "       \
  "padding: int | typing.Sequence[int] | str = 0, dilation: int | typing.Sequence[int] = 1, " \
  "bias: bool = True, layout: str = 'channels_first', init: Init | float | str | None = None"

#define PLIMSOLL_DEPTHWISE1D                                                    \
  "in_channels: int = 0, multiplier: int = 1, stride: int = 1, padding: int | " \
  "typing.Sequence[int] | str = 0, dilation: int = 1, bias: bool = True"

void bind_depthwise(nb::module_& m) {
  define_class<nn::DepthwiseConv1D, nn::Module>(
      m, "DepthwiseConv1D", "size: int, *, " PLIMSOLL_DEPTHWISE1D,
      "Convolution of every channel of sequences [n, channels, length] by itself.\n\n"
      ">>> pm.nn.DepthwiseConv1D(3, padding=\"causal\")",
      [](nn::DepthwiseConv1D* self, const Given& given) {
        new (self) nn::DepthwiseConv1D(given.integer("size"), depthwise1d(given));
      });
  define_class<nn::SeparableConv1D, nn::Module>(
      m, "SeparableConv1D", "out: int, size: int, *, " PLIMSOLL_DEPTHWISE1D,
      "A depthwise convolution over sequences without bias, then a convolution of size 1.",
      [](nn::SeparableConv1D* self, const Given& given) {
        new (self)
            nn::SeparableConv1D(given.integer("out"), given.integer("size"), depthwise1d(given));
      });
}

void bind_convolutions(nb::module_& m) {
  define_class<nn::Conv1D, nn::Module>(
      m, "Conv1D",
      "out: int, size: int, *, in_channels: int = 0, stride: int = 1, padding: int | "
      "typing.Sequence[int] | str = 0, dilation: int = 1, groups: int = 1, bias: bool = True, "
      "init: Init | float | str | None = None",
      "Convolution over sequences [n, channels, length]. Padding is a number, (before, after), "
      "\"same\" or \"causal\".\n\n>>> pm.nn.Conv1D(64, 3, padding=\"causal\")",
      [](nn::Conv1D* self, const Given& given) {
        nn::Conv1DOptions options;
        options.in = given.integer("in_channels");
        options.stride = given.integer("stride");
        options.padding = as_sequence_padding(given, "padding");
        options.dilation = given.integer("dilation");
        options.groups = given.integer("groups");
        options.bias = given.flag("bias");
        options.init = as_optional_init(given.value("init"), given.where("init"));
        new (self) nn::Conv1D(given.integer("out"), given.integer("size"), options);
      });
  define_class<nn::ConvTranspose1D, nn::Module>(
      m, "ConvTranspose1D",
      "out: int, size: int, *, in_channels: int = 0, stride: int = 0, padding: int = 0, "
      "output_padding: int = 0, dilation: int = 1, groups: int = 1, bias: bool = True",
      "Transposed convolution, which makes sequences longer. A stride of 0 is the "
      "window's size.",
      [](nn::ConvTranspose1D* self, const Given& given) {
        new (self) nn::ConvTranspose1D(
            given.integer("out"), given.integer("size"),
            {given.integer("in_channels"), given.integer("stride"), given.integer("padding"),
             given.integer("output_padding"), given.integer("dilation"), given.integer("groups"),
             given.flag("bias")});
      });
  define_class<nn::DepthwiseConv2D, nn::Module>(
      m, "DepthwiseConv2D", "size: int | typing.Sequence[int], *, " PLIMSOLL_DEPTHWISE,
      "Every channel by itself: a convolution with as many groups as channels.",
      [](nn::DepthwiseConv2D* self, const Given& given) {
        new (self) nn::DepthwiseConv2D(as_pair(given, "size"), depthwise(given));
      });
  define_class<nn::SeparableConv2D, nn::Module>(
      m, "SeparableConv2D", "out: int, size: int | typing.Sequence[int], *, " PLIMSOLL_DEPTHWISE,
      "A depthwise convolution without bias, then a 1x1 convolution.",
      [](nn::SeparableConv2D* self, const Given& given) {
        new (self)
            nn::SeparableConv2D(given.integer("out"), as_pair(given, "size"), depthwise(given));
      });
}

void bind_padding(nb::module_& m, nb::module_& nn) {
  define_class<nn::Pad1D, nn::Module>(
      m, "Pad1D", "before: int, after: int, *, mode: str = 'zeros'",
      "More elements around sequences [n, channels, length]: \"zeros\", \"reflect\", "
      "\"replicate\" or \"circular\".",
      [](nn::Pad1D* self, const Given& given) {
        new (self) nn::Pad1D(given.integer("before"), given.integer("after"), as_mode(given));
      });
  define_class<nn::Pad2D, nn::Module>(
      m, "Pad2D", "sides: int | typing.Sequence[int], *, mode: str = 'zeros'",
      "More pixels around pictures [n, channels, height, width]: one number for all sides, or "
      "(top, bottom, left, right).",
      [](nn::Pad2D* self, const Given& given) {
        const auto sides = given.integers("sides");
        if (sides.size() != 1 && sides.size() != 4) {
          wrong_value(given.where("sides"), given.value("sides"),
                      "it must be one integer, or four: (top, bottom, left, right)");
        }
        const auto at = [&](std::size_t i) { return sides[sides.size() == 1 ? 0 : i]; };
        new (self) nn::Pad2D(nn::Pad2D::Sides{at(0), at(1), at(2), at(3)}, as_mode(given));
      });
  define(nn, "pad",
         "x: Tensor | Variable, before: typing.Sequence[int], after: typing.Sequence[int], *, "
         "mode: str = 'zeros'",
         "Tensor", "before[i] and after[i] elements more in dimension i, by a mode of Pad1D.",
         [](const Given& given) {
           const Tensor x = given.tensor("x");
           const auto before = given.integers("before");
           const auto after = given.integers("after");
           const nn::PadMode mode = as_mode(given);
           return computed([&] { return nn::pad(x, before, after, mode); });
         });
  define_class<nn::Upsample2D, nn::Module>(
      m, "Upsample2D", "factor: int, *, mode: str = 'nearest'",
      "Pictures [n, channels, height, width] made `factor` times larger: \"nearest\" or "
      "\"bilinear\".",
      [](nn::Upsample2D* self, const Given& given) {
        new (self) nn::Upsample2D(given.integer("factor"), static_cast<nn::Upsampling>(given.choice(
                                                               "mode", {"nearest", "bilinear"})));
      });
  define(nn, "resize_bilinear2d",
         "x: Tensor | Variable, height: int, width: int, *, align_corners: bool = False", "Tensor",
         "Pictures [n, channels, h, w] of another size.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t height = given.integer("height");
           const std::int64_t width = given.integer("width");
           const bool corners = given.flag("align_corners");
           return computed([&] { return nn::resize_bilinear2d(x, height, width, corners); });
         });
  define(nn, "resize_linear1d", "x: Tensor | Variable, length: int, *, align_corners: bool = False",
         "Tensor", "Sequences [n, channels, l] of another length.", [](const Given& given) {
           const Tensor x = given.tensor("x");
           const std::int64_t length = given.integer("length");
           const bool corners = given.flag("align_corners");
           return computed([&] { return nn::resize_linear1d(x, length, corners); });
         });
}

}  // namespace

void bind_layers1d(nb::module_& m, nb::module_& nn) {
  bind_convolutions(m);
  bind_depthwise(m);
  bind_padding(m, nn);
  pool1d<nn::MaxPool1D>(m, "MaxPool1D", "The largest of each window of a sequence.");
  pool1d<nn::AvgPool1D>(m, "AvgPool1D", "The mean of each window of a sequence.");
  nb::class_<nn::GlobalAvgPool1D, nn::Module>(m, "GlobalAvgPool1D",
                                              "The mean over the length: [n, channels].")
      .def(nb::init<>());
  nb::class_<nn::GlobalMaxPool1D, nn::Module>(m, "GlobalMaxPool1D",
                                              "The largest over the length: [n, channels].")
      .def(nb::init<>());
  define_class<nn::GlobalMaxPool2D, nn::Module>(
      m, "GlobalMaxPool2D", "*, layout: str = 'channels_first'",
      "The largest over height and width: [n, channels].",
      [](nn::GlobalMaxPool2D* self, const Given& given) {
        new (self) nn::GlobalMaxPool2D(as_layout(given.value("layout"), given.where("layout")));
      });
  define_class<nn::EmbeddingBag, nn::Module>(
      m, "EmbeddingBag",
      "count: int, features: int, *, mode: str = 'mean', padding_id: int = -1, deviation: float = "
      "1.0",
      "Rows of a table at the ids [n, bag], reduced over each bag by \"sum\", \"mean\" or "
      "\"max\"; ids that are `padding_id` do not count. bag(ids, weights) weighs a sum.",
      [](nn::EmbeddingBag* self, const Given& given) {
        new (self) nn::EmbeddingBag(given.integer("count"), given.integer("features"),
                                    {static_cast<nn::EmbeddingBagOptions::Mode>(
                                         given.choice("mode", {"sum", "mean", "max"})),
                                     given.integer("padding_id"), given.number("deviation")});
      });
}

}  // namespace plimsoll::python
