// A part of a picture: given, in the middle, or at random.
#include <cstring>

#include <fmt/format.h>

#include "data/program/draws.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> crop_specs(const SpecInputs& inputs) {
  const auto& from = inputs.require_picture(0);
  const std::int64_t height = inputs.require_positive("height");
  const std::int64_t width = inputs.require_positive("width");
  const auto smaller = [](std::int64_t extent, std::int64_t wanted) {
    return extent != kAnyExtent && extent < wanted;
  };
  if (smaller(from[0], height) || smaller(from[1], width)) {
    inputs.fail(fmt::format("a part of {} x {} pixels is larger than the image; resize it first",
                            height, width));
  }
  return {{inputs[0].dtype, std::vector<std::int64_t>{height, width, from[2]}}};
}

void cut_out(ProgramCall& call, const image::Window& window) {
  const ProgramInput& from = call.input(0);
  const image::Extent extent = extent_of(from.shape());
  const std::size_t size = dtype_size(from.dtype());
  const auto channels = static_cast<std::size_t>(extent.channels);
  Tensor to = call.output({window.height, window.width, extent.channels}, from.dtype());
  auto* out = static_cast<std::byte*>(to.raw_mutable_data());
  const std::size_t row = static_cast<std::size_t>(window.width) * channels * size;
  for (int y = window.y; y < window.y + window.height; ++y, out += row) {
    const std::size_t pixel = static_cast<std::size_t>(y) * static_cast<std::size_t>(extent.width) +
                              static_cast<std::size_t>(window.x);
    std::memcpy(out, from.as<std::byte>() + pixel * channels * size, row);
  }
}

struct Wanted {
  explicit Wanted(const ProgramCall& call)
      : picture(extent_of(call.input(0).shape())),
        height(static_cast<int>(call.attributes().integer("height"))),
        width(static_cast<int>(call.attributes().integer("width"))) {}
  image::Extent picture;
  int height;
  int width;
};

}  // namespace

std::span<const ProgramOp> crop() {
  static constexpr ProgramOp kOps[] = {
      {.name = "crop",
       .summary = "a part of an image",
       .specs = crop_specs,
       .run =
           [](ProgramCall& call) {
             const Wanted w(call);
             cut_out(call, inner_window(w.picture.height, w.picture.width,
                                        {.x = static_cast<int>(call.attributes().integer("x")),
                                         .y = static_cast<int>(call.attributes().integer("y")),
                                         .width = w.width,
                                         .height = w.height},
                                        "crop"));
           }},
      {.name = "center_crop",
       .summary = "the middle of an image",
       .specs = crop_specs,
       .run =
           [](ProgramCall& call) {
             const Wanted w(call);
             cut_out(call, middle_window(w.picture.height, w.picture.width, w.height, w.width,
                                         "center_crop"));
           }},
      {.name = "random_crop",
       .summary = "a part of an image anywhere in it",
       .random = true,
       .specs = crop_specs,
       .run =
           [](ProgramCall& call) {
             const Wanted w(call);
             cut_out(call, drawn_window(call.random(), w.picture.height, w.picture.width, w.height,
                                        w.width, "random_crop"));
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
