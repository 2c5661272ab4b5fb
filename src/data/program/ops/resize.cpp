// A picture at another size.
#include <plimsoll/data/image/resize_like_load.h>

#include "data/program/load_options.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

void run_resize(ProgramCall& call) {
  const std::int64_t height = call.attributes().integer("height");
  const std::int64_t width = call.attributes().integer("width");
  const image::ResizeOptions options = resize_options(call.attributes());
  const ProgramInput& from = call.input(0);
  Tensor to = call.output({height, width, from.shape()[2]}, DType::f32);
  const image::View<float> out = picture<float>(to);
  image::Scratch& scratch = call.context().scratch();
  if (from.dtype() == DType::f32) {
    image::resize(out, picture<float>(from), options, scratch);
  } else {
    image::resize_like_load(out, picture<std::uint8_t>(from), options, scratch);
  }
}

}  // namespace

std::span<const ProgramOp> resize() {
  static constexpr ProgramOp kOps[] = {
      {.name = "resize",
       .summary = "an image at another size, as f32",
       .specs =
           [](const SpecInputs& inputs) {
             const auto& from = inputs.require_picture(0);
             filter_of(inputs.attributes().text("filter"));
             return std::vector<TensorSpec>{
                 {DType::f32,
                  std::vector<std::int64_t>{inputs.require_positive("height"),
                                            inputs.require_positive("width"), from[2]}}};
           },
       .run = run_resize},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
