// (value / 255 - mean) / deviation, with the bits of image::load().
#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> normalize_specs(const SpecInputs& inputs) {
  const auto& from = inputs.require_picture(0);
  for (const int i : {1, 2}) {
    const TensorSpec& each = inputs[i];
    const bool fits = each.dtype == DType::f32 && each.dims && each.dims->size() == 1 &&
                      (from[2] == kAnyExtent || each.dims->front() == from[2]);
    if (!fits) {
      inputs.fail(fmt::format("{} must be f32 with a number for each of {} channels",
                              i == 1 ? "mean" : "deviation",
                              from[2] == kAnyExtent ? "the" : std::to_string(from[2])));
    }
  }
  return {{DType::f32, from}};
}

template <class T>
void scaled(float* out, const T* in, std::int64_t pixels, const std::vector<float>& scale,
            const std::vector<float>& bias) {
  const std::size_t channels = scale.size();
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < channels; ++c) {
      *out++ = static_cast<float>(*in++) * scale[c] + bias[c];
    }
  }
}

void run_normalize(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  const auto channels = static_cast<std::size_t>(from.shape()[2]);
  std::vector<float> scale(channels);
  std::vector<float> bias(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const float deviation = call.input(2).as<float>()[c];
    if (deviation == 0.0F) throw InvalidArgument("[normalize] a deviation is 0");
    scale[c] = 1.0F / (255.0F * deviation);
    bias[c] = -call.input(1).as<float>()[c] / deviation;
  }
  Tensor to = call.output(from.shape(), DType::f32);
  const std::int64_t pixels = from.shape()[0] * from.shape()[1];
  if (from.dtype() == DType::u8) {
    scaled(to.mutable_data<float>(), from.as<std::uint8_t>(), pixels, scale, bias);
  } else {
    scaled(to.mutable_data<float>(), from.as<float>(), pixels, scale, bias);
  }
}

}  // namespace

std::span<const ProgramOp> normalize() {
  static constexpr ProgramOp kOps[] = {
      {.name = "normalize",
       .summary = "(value / 255 - mean) / deviation, per channel of an image",
       .inputs = 3,
       .specs = normalize_specs,
       .run = run_normalize},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
