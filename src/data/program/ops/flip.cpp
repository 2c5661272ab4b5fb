// A picture mirrored: always, or at random.
#include <cstring>

#include <fmt/format.h>

#include "data/program/draws.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> flip_specs(const SpecInputs& inputs) {
  inputs.require_picture(0);
  return {inputs[0]};
}

/// Copies the picture, its columns or its rows in the opposite order.
void copy_flipped(ProgramCall& call, bool columns, bool rows) {
  const ProgramInput& from = call.input(0);
  const image::Extent extent = extent_of(from.shape());
  const std::size_t pixel = dtype_size(from.dtype()) * static_cast<std::size_t>(extent.channels);
  const std::size_t row = pixel * static_cast<std::size_t>(extent.width);
  Tensor to = call.output(from.shape(), from.dtype());
  auto* out = static_cast<std::byte*>(to.raw_mutable_data());
  for (int y = 0; y < extent.height; ++y, out += row) {
    const std::byte* const in =
        from.as<std::byte>() + static_cast<std::size_t>(rows ? extent.height - 1 - y : y) * row;
    if (!columns) {
      std::memcpy(out, in, row);
      continue;
    }
    for (int x = 0; x < extent.width; ++x) {
      std::memcpy(out + static_cast<std::size_t>(x) * pixel,
                  in + static_cast<std::size_t>(extent.width - 1 - x) * pixel, pixel);
    }
  }
}

}  // namespace

std::span<const ProgramOp> flip() {
  static constexpr ProgramOp kOps[] = {
      {.name = "flip_left_right",
       .summary = "an image mirrored left to right",
       .specs = flip_specs,
       .run = [](ProgramCall& call) { copy_flipped(call, true, false); }},
      {.name = "flip_up_down",
       .summary = "an image mirrored top to bottom",
       .specs = flip_specs,
       .run = [](ProgramCall& call) { copy_flipped(call, false, true); }},
      {.name = "random_flip",
       .summary = "an image mirrored left to right with a probability",
       .random = true,
       .specs =
           [](const SpecInputs& inputs) {
             const double probability = inputs.attributes().number("probability");
             if (!(probability >= 0 && probability <= 1)) {
               inputs.fail(fmt::format("probability is {}; give one from 0 to 1", probability));
             }
             return flip_specs(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const double probability = call.attributes().number("probability");
             copy_flipped(call, drawn_flip(call.random(), probability), false);
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
