// A random part of a picture at a given size, as torchvision's RandomResizedCrop.
#include <fmt/format.h>

#include <plimsoll/data/image/resize_like_load.h>

#include "data/program/load_options.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

template <class T>
image::View<const T> part_of(const ProgramInput& from, const image::Window& window) {
  const image::View<const T> all = picture<T>(from);
  return {all.pixel(window.y, window.x), window.height, window.width, all.channels, all.stride};
}

void run_resized_crop(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  const image::Extent extent = extent_of(from.shape());
  const image::Window window =
      drawn_resized_window([&](std::uint32_t draw) { return call.random(draw); }, extent.height,
                           extent.width, crop_range(call.attributes()));
  Tensor to = call.output(
      {call.attributes().integer("height"), call.attributes().integer("width"), from.shape()[2]},
      DType::f32);
  const image::ResizeOptions options = resize_options(call.attributes());
  image::Scratch& scratch = call.context().scratch();
  const image::View<float> out = picture<float>(to);
  if (from.dtype() == DType::f32) {
    image::resize(out, part_of<float>(from, window), options, scratch);
  } else {
    image::resize_like_load(out, part_of<std::uint8_t>(from, window), options, scratch);
  }
}

std::vector<TensorSpec> resized_crop_specs(const SpecInputs& inputs) {
  const auto& from = inputs.require_picture(0);
  filter_of(inputs.attributes().text("filter"));
  const CropRange range = crop_range(inputs.attributes());
  if (!(range.scale_low > 0 && range.scale_low <= range.scale_high && range.scale_high <= 1)) {
    inputs.fail(fmt::format("scale is {} to {}; give 0 < low <= high <= 1", range.scale_low,
                            range.scale_high));
  }
  if (!(range.ratio_low > 0 && range.ratio_low <= range.ratio_high)) {
    inputs.fail(
        fmt::format("ratio is {} to {}; give 0 < low <= high", range.ratio_low, range.ratio_high));
  }
  return {{DType::f32, std::vector<std::int64_t>{inputs.require_positive("height"),
                                                 inputs.require_positive("width"), from[2]}}};
}

}  // namespace

std::span<const ProgramOp> resized_crop() {
  static constexpr ProgramOp kOps[] = {
      {.name = "random_resized_crop",
       .summary = "a random part of an image at a given size, as f32",
       .random = true,
       .specs = resized_crop_specs,
       .run = run_resized_crop},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
