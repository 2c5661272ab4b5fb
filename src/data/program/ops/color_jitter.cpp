// Brightness, contrast, saturation and hue, each drawn from a range, one after the other in a drawn
// order: torchvision's ColorJitter, in one op.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

using Change = void (*)(const ColourPicture& picture, double parameter, double most);

struct Part {
  const char* name;
  Change change;
  double middle;  ///< of what is drawn
};
constexpr std::array<Part, 4> kParts = {{{"brightness", change_brightness, 1},
                                         {"contrast", change_contrast, 1},
                                         {"saturation", change_saturation, 1},
                                         {"hue", change_hue, 0}}};

std::vector<TensorSpec> color_jitter_specs(const SpecInputs& inputs) {
  const auto& dims = inputs.require_picture(0);
  if (dims[2] != 1 && dims[2] != 3) inputs.fail("takes images of 1 or 3 channels");
  for (const Part& part : kParts) {
    const double amount = inputs.attributes().number(part.name);
    if (!(amount >= 0)) inputs.fail(fmt::format("{} is {}; give 0 or more", part.name, amount));
  }
  const double hue = inputs.attributes().number("hue");
  if (hue > 0.5) inputs.fail(fmt::format("hue is {}; give 0 to 0.5", hue));
  return {inputs[0]};
}

/// All orders are equally likely: a place for each, from the last to the first.
std::array<int, 4> drawn_order(const Philox::Counter& words) {
  std::array<int, 4> order = {0, 1, 2, 3};
  for (std::uint32_t i = 3; i > 0; --i) std::swap(order[i], order[Philox::below(words[i], i + 1)]);
  return order;
}

void run_color_jitter(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  const bool whole = from.dtype() == DType::u8;
  const double most = whole ? 255 : call.attributes().number("most");
  Tensor to = call.output(from.shape(), from.dtype());
  FloatPicture floats(from, call.context().scratch(), to);
  const ColourPicture colours{floats.data(), from.shape()[0] * from.shape()[1],
                              static_cast<int>(from.shape()[2]), whole};
  const Philox::Counter words = call.random(1);
  for (const int i : drawn_order(call.random(0))) {
    const Part& part = kParts[static_cast<std::size_t>(i)];
    const double amount = call.attributes().number(part.name);
    if (amount == 0) continue;
    const double low = part.middle == 0 ? -amount : std::max(0.0, part.middle - amount);
    const double high = part.middle + amount;
    const double unit = static_cast<double>(words[static_cast<std::size_t>(i)]) / 4294967296.0;
    part.change(colours, low + (high - low) * unit, most);
    if (whole) cut_to_whole(colours, most, false);
  }
  floats.write(to);
}

}  // namespace

std::span<const ProgramOp> color_jitter() {
  static constexpr ProgramOp kOps[] = {
      {.name = "color_jitter",
       .summary = "brightness, contrast, saturation and hue, drawn, in a drawn order",
       .random = true,
       .specs = color_jitter_specs,
       .run = run_color_jitter},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
