// Brightness, contrast, saturation, hue and others, as torchvision v2 defines them: with given
// parameters, or drawn.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> colour_specs(const SpecInputs& inputs) {
  const auto& dims = inputs.require_picture(0);
  if (dims[2] != 1 && dims[2] != 3) inputs.fail("takes images of 1 or 3 channels");
  return {inputs[0]};
}

std::vector<TensorSpec> rgb_specs(const SpecInputs& inputs) {
  if (inputs.require_picture(0)[2] != 3) inputs.fail("takes images of 3 channels");
  return {inputs[0]};
}

/// [low, high] within these bounds.
template <std::vector<TensorSpec> (*Rule)(const SpecInputs&)>
std::vector<TensorSpec> drawn_specs(const SpecInputs& inputs) {
  const double low = inputs.attributes().number("low");
  const double high = inputs.attributes().number("high");
  if (!(low <= high)) inputs.fail(fmt::format("low {} is above high {}", low, high));
  return Rule(inputs);
}

template <std::vector<TensorSpec> (*Rule)(const SpecInputs&)>
std::vector<TensorSpec> sometimes_specs(const SpecInputs& inputs) {
  const double probability = inputs.attributes().number("probability");
  if (!(probability >= 0 && probability <= 1)) {
    inputs.fail(fmt::format("probability is {}; give one from 0 to 1", probability));
  }
  return Rule(inputs);
}

using Change = void (*)(const ColourPicture& picture, double parameter, double most);

double most_of(const ProgramCall& call) {
  if (call.input(0).dtype() == DType::u8) return 255;
  return call.attributes().has("most") ? call.attributes().number("most") : 255;
}

void apply(ProgramCall& call, Change change, double parameter) {
  const ProgramInput& from = call.input(0);
  const std::int64_t pixels = from.shape()[0] * from.shape()[1];
  const auto channels = static_cast<int>(from.shape()[2]);
  Tensor to = call.output(from.shape(), from.dtype());
  // u8 is worked on in f32 and cut off at the end.
  FloatPicture floats(from, call.context().scratch(), to);
  change({floats.data(), pixels, channels, from.dtype() == DType::u8}, parameter, most_of(call));
  floats.write(to);
}

template <Change C>
void given(ProgramCall& call) {
  apply(call, C, call.attributes().number("amount"));
}

template <Change C>
void drawn(ProgramCall& call) {
  const double unit = static_cast<double>(call.random()[0]) / 4294967296.0;
  const double low = call.attributes().number("low");
  const double high = call.attributes().number("high");
  apply(call, C, low + (high - low) * unit);
}

void unchanged(const ColourPicture&, double, double) {}

template <Change C>
void sometimes(ProgramCall& call) {
  const bool change = static_cast<double>(call.random()[0]) <
                      call.attributes().number("probability") * 4294967296.0;
  const double amount = call.attributes().has("amount") ? call.attributes().number("amount") : 0.0;
  apply(call, change ? C : unchanged, amount);
}

void gray(const ColourPicture& picture, double, double) { make_gray(picture); }

}  // namespace

std::span<const ProgramOp> colour() {
  static constexpr ProgramOp kOps[] = {
      {.name = "adjust_brightness",
       .summary = "value * factor",
       .specs = colour_specs,
       .run = given<change_brightness>},
      {.name = "adjust_contrast",
       .summary = "away from the mean of the gray image",
       .specs = colour_specs,
       .run = given<change_contrast>},
      {.name = "adjust_saturation",
       .summary = "away from the gray image",
       .specs = rgb_specs,
       .run = given<change_saturation>},
      {.name = "adjust_hue",
       .summary = "the hue turned",
       .specs = rgb_specs,
       .run = given<change_hue>},
      {.name = "solarize",
       .summary = "values from a threshold on inverted",
       .specs = colour_specs,
       .run = given<change_solarize>},
      {.name = "posterize",
       .summary = "some bits of each value",
       .specs = colour_specs,
       .run = given<change_posterize>},
      {.name = "grayscale",
       .summary = "the gray image in all channels",
       .specs = rgb_specs,
       .run = [](ProgramCall& call) { apply(call, gray, 0); }},
      {.name = "autocontrast",
       .summary = "each channel stretched to the whole range",
       .specs = colour_specs,
       .run = [](ProgramCall& call) { apply(call, change_autocontrast, 0); }},
      {.name = "equalize",
       .summary = "the values of each channel about equally frequent",
       .specs = colour_specs,
       .run = [](ProgramCall& call) { apply(call, change_equalize, 0); }},
      {.name = "tf_adjust_brightness",
       .summary = "value + amount, as tf.image does it",
       .specs = colour_specs,
       .run = given<change_tf_brightness>},
      {.name = "tf_adjust_contrast",
       .summary = "away from the mean of each channel, as tf.image does it",
       .specs = colour_specs,
       .run = given<change_tf_contrast>},
      {.name = "tf_adjust_saturation",
       .summary = "the saturation multiplied, as tf.image does it",
       .specs = rgb_specs,
       .run = given<change_tf_saturation>},
      {.name = "random_posterize",
       .summary = "some bits of each value, with a probability",
       .random = true,
       .specs = sometimes_specs<colour_specs>,
       .run = sometimes<change_posterize>},
      {.name = "random_brightness",
       .summary = "value * factor, drawn from a range",
       .random = true,
       .specs = drawn_specs<colour_specs>,
       .run = drawn<change_brightness>},
      {.name = "random_contrast",
       .summary = "contrast drawn from a range",
       .random = true,
       .specs = drawn_specs<colour_specs>,
       .run = drawn<change_contrast>},
      {.name = "random_saturation",
       .summary = "saturation drawn from a range",
       .random = true,
       .specs = drawn_specs<rgb_specs>,
       .run = drawn<change_saturation>},
      {.name = "random_hue",
       .summary = "the hue turned by an amount drawn from a range",
       .random = true,
       .specs = drawn_specs<rgb_specs>,
       .run = drawn<change_hue>},
      {.name = "random_grayscale",
       .summary = "the gray image with a probability",
       .random = true,
       .specs = sometimes_specs<rgb_specs>,
       .run = sometimes<gray>},
      {.name = "random_solarize",
       .summary = "values from a threshold on inverted, with a probability",
       .random = true,
       .specs = sometimes_specs<colour_specs>,
       .run = sometimes<change_solarize>},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
