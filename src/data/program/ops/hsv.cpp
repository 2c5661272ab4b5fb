// Colours as hue, saturation and value, all from 0 to 1, as TensorFlow defines them.
#include <algorithm>
#include <cmath>

#include "data/program/op.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> hsv_specs(const SpecInputs& inputs) {
  const TensorSpec& from = inputs[0];
  if (from.dtype != DType::f32) inputs.fail("takes f32");
  if (!from.dims || from.dims->empty() || (from.dims->back() != 3 && from.dims->back() >= 0)) {
    inputs.fail("takes pixels of 3 channels in the last dimension");
  }
  return {from};
}

void to_hsv(const float* rgb, float* hsv) {
  const float value = std::max({rgb[0], rgb[1], rgb[2]});
  const float range = value - std::min({rgb[0], rgb[1], rgb[2]});
  const float saturation = value > 0 ? range / value : 0;
  float hue = 0;
  if (range > 0) {
    const float norm = 1.0F / (6.0F * range);
    if (rgb[0] == value) {
      hue = norm * (rgb[1] - rgb[2]);
    } else if (rgb[1] == value) {
      hue = norm * (rgb[2] - rgb[0]) + 2.0F / 6.0F;
    } else {
      hue = norm * (rgb[0] - rgb[1]) + 4.0F / 6.0F;
    }
    if (hue < 0) hue += 1;
  }
  hsv[0] = hue;
  hsv[1] = saturation;
  hsv[2] = value;
}

void to_rgb(const float* hsv, float* rgb) {
  const float value = hsv[2];
  const float down = (1 - hsv[1]) * value;
  const float turn = hsv[0] * 6;
  const auto ramp = [](float x) { return std::clamp(x, 0.0F, 1.0F); };
  const float r = ramp(std::abs(turn - 3) - 1);
  const float g = ramp(2 - std::abs(turn - 2));
  const float b = ramp(2 - std::abs(turn - 4));
  const float range = hsv[1] * value;
  rgb[0] = down + range * r;
  rgb[1] = down + range * g;
  rgb[2] = down + range * b;
}

template <void (*Convert)(const float*, float*)>
void run_hsv(ProgramCall& call) {
  const ProgramInput& from = call.input(0);
  Tensor to = call.output(from.shape(), DType::f32);
  float pixel[3];
  auto* const out = to.mutable_data<float>();
  for (std::int64_t i = 0; i + 2 < from.elements(); i += 3) {
    Convert(from.as<float>() + i, pixel);
    std::copy_n(pixel, 3, out + i);
  }
}

}  // namespace

std::span<const ProgramOp> hsv() {
  static constexpr ProgramOp kOps[] = {
      {.name = "hsv_to_rgb",
       .summary = "hue, saturation, value as colours",
       .specs = hsv_specs,
       .run = run_hsv<to_rgb>},
      {.name = "rgb_to_hsv",
       .summary = "colours as hue, saturation, value",
       .specs = hsv_specs,
       .run = run_hsv<to_hsv>},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
