// A picture turned, moved, scaled and sheared about its centre, as torchvision v2 does it.
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> affine_specs(const SpecInputs& inputs) {
  inputs.require_picture(0);
  return {inputs[0]};
}

struct Map {
  double angle = 0;  ///< degrees
  double x = 0;
  double y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
};

/// From a pixel of the result to where it comes from, both counted from the centre.
std::array<double, 6> inverse(const Map& map) {
  constexpr double kDegree = std::numbers::pi / 180;
  const double rot = map.angle * kDegree;
  const double sx = map.shear_x * kDegree;
  const double sy = map.shear_y * kDegree;
  const double a = std::cos(rot - sy) / std::cos(sy);
  const double b = -std::cos(rot - sy) * std::tan(sx) / std::cos(sy) - std::sin(rot);
  const double c = std::sin(rot - sy) / std::cos(sy);
  const double d = -std::sin(rot - sy) * std::tan(sx) / std::cos(sy) + std::cos(rot);
  const std::array<double, 4> m = {d / map.scale, -b / map.scale, -c / map.scale, a / map.scale};
  return {m[0], m[1], -m[0] * map.x - m[1] * map.y, m[2], m[3], -m[2] * map.x - m[3] * map.y};
}

struct Sampler {
  const float* pixels;
  image::Extent extent;
  float fill;

  float at(std::int64_t y, std::int64_t x, int c) const {
    const bool inside = y >= 0 && x >= 0 && y < extent.height && x < extent.width;
    return inside ? pixels[(y * extent.width + x) * extent.channels + c] : fill;
  }
};

void sample(const Sampler& from, const std::array<double, 6>& m, bool bilinear, float* out) {
  const image::Extent& e = from.extent;
  const double middle_x = (e.width - 1) / 2.0;
  const double middle_y = (e.height - 1) / 2.0;
  for (int y = 0; y < e.height; ++y) {
    for (int x = 0; x < e.width; ++x) {
      const double at_x = m[0] * (x - middle_x) + m[1] * (y - middle_y) + m[2] + middle_x;
      const double at_y = m[3] * (x - middle_x) + m[4] * (y - middle_y) + m[5] + middle_y;
      const auto left = static_cast<std::int64_t>(std::floor(at_x));
      const auto top = static_cast<std::int64_t>(std::floor(at_y));
      const auto dx = static_cast<float>(at_x - static_cast<double>(left));
      const auto dy = static_cast<float>(at_y - static_cast<double>(top));
      for (int c = 0; c < e.channels; ++c) {
        if (!bilinear) {
          *out++ = from.at(static_cast<std::int64_t>(std::nearbyint(at_y)),
                           static_cast<std::int64_t>(std::nearbyint(at_x)), c);
          continue;
        }
        const float upper = from.at(top, left, c) * (1 - dx) + from.at(top, left + 1, c) * dx;
        const float lower =
            from.at(top + 1, left, c) * (1 - dx) + from.at(top + 1, left + 1, c) * dx;
        *out++ = upper * (1 - dy) + lower * dy;
      }
    }
  }
}

void turn(ProgramCall& call, const Map& map) {
  const ProgramInput& from = call.input(0);
  const bool bilinear = call.attributes().flag("bilinear");
  const auto fill = static_cast<float>(call.attributes().number("fill"));
  Tensor to = call.output(from.shape(), from.dtype());
  Tensor source = call.context().empty(from.shape(), DType::f32);
  auto* const floats = source.mutable_data<float>();
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    floats[i] = from.dtype() == DType::u8 ? static_cast<float>(from.as<std::uint8_t>()[i])
                                          : from.as<float>()[i];
  }
  FloatPicture result(from, call.context().scratch(), to);
  sample({floats, extent_of(from.shape()), fill}, inverse(map), bilinear, result.data());
  result.write(to, true);
}

}  // namespace

std::span<const ProgramOp> affine() {
  static constexpr ProgramOp kOps[] = {
      {.name = "affine",
       .summary = "a picture turned, moved, scaled and sheared about its centre",
       .specs =
           [](const SpecInputs& inputs) {
             const double scale = inputs.attributes().number("scale");
             if (!(scale > 0)) inputs.fail(fmt::format("scale is {}; give more than 0", scale));
             return affine_specs(inputs);
           },
       .run =
           [](ProgramCall& call) {
             const ops::Attributes& given = call.attributes();
             turn(call, {.angle = given.number("angle"),
                         .x = given.number("translate_x"),
                         .y = given.number("translate_y"),
                         .scale = given.number("scale"),
                         .shear_x = given.number("shear_x"),
                         .shear_y = given.number("shear_y")});
           }},
      {.name = "rotate",
       .summary = "a picture turned counter-clockwise about its centre",
       .specs = affine_specs,
       .run =
           [](ProgramCall& call) { turn(call, {.angle = -call.attributes().number("degrees")}); }},
      {.name = "random_rotate",
       .summary = "a picture turned by an angle drawn from a range",
       .random = true,
       .specs = affine_specs,
       .run =
           [](ProgramCall& call) {
             const double most = call.attributes().number("degrees");
             const double unit = static_cast<double>(call.random()[0]) / 4294967296.0;
             turn(call, {.angle = -(2 * unit - 1) * most});
           }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
