// A picture turned, moved, scaled and sheared about its centre, as torchvision v2 does it.
#include <cmath>

#include <fmt/format.h>

#include "data/program/colours.h"
#include "data/program/picture.h"
#include "data/program/turning.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> affine_specs(const SpecInputs& inputs) {
  inputs.require_picture(0);
  return {inputs[0]};
}

void turn(ProgramCall& call, Turning how) {
  const ProgramInput& from = call.input(0);
  how.bilinear = call.attributes().flag("bilinear");
  how.fill = static_cast<float>(call.attributes().number("fill"));
  Tensor to = call.output(from.shape(), from.dtype());
  Tensor source = call.context().empty(from.shape(), DType::f32);
  FloatPicture result(from, call.context().scratch(), to);
  std::copy_n(result.data(), from.elements(), source.mutable_data<float>());
  turn(result.data(), source.data<float>(), extent_of(from.shape()), how);
  result.write(to, true);
}

/// Uniform in [low, high].
double between(double low, double high, std::uint32_t word) {
  return low + (high - low) * static_cast<double>(word) / 4294967296.0;
}

void random_affine(ProgramCall& call) {
  const ops::Attributes& given = call.attributes();
  const Philox::Counter first = call.random(0);
  const Philox::Counter second = call.random(1);
  const double degrees = given.number("degrees");
  const double shear = given.number("shear");
  const auto moved = [&](double share, std::int64_t size, std::uint32_t word) {
    const double most = share * static_cast<double>(size);
    return std::nearbyint(between(-most, most, word));
  };
  const Shape& shape = call.input(0).shape();
  turn(call, {.angle = between(-degrees, degrees, first[0]),
              .x = moved(given.number("translate_x"), shape[1], first[1]),
              .y = moved(given.number("translate_y"), shape[0], first[2]),
              .scale = between(given.number("scale_low"), given.number("scale_high"), first[3]),
              .shear_x = between(-shear, shear, second[0])});
}

std::vector<TensorSpec> random_affine_specs(const SpecInputs& inputs) {
  const ops::Attributes& given = inputs.attributes();
  const double low = given.number("scale_low");
  const double high = given.number("scale_high");
  if (!(low > 0 && low <= high)) {
    inputs.fail(fmt::format("scale is {} to {}; give 0 < low <= high", low, high));
  }
  for (const char* name : {"translate_x", "translate_y"}) {
    const double share = given.number(name);
    if (!(share >= 0 && share <= 1)) {
      inputs.fail(fmt::format("{} is {}; give a share of the image, 0 to 1", name, share));
    }
  }
  return affine_specs(inputs);
}

}  // namespace

std::span<const ProgramOp> affine() {
  static constexpr ProgramOp kOps[] = {
      {.name = "affine",
       .summary = "an image turned, moved, scaled and sheared about its centre",
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
       .summary = "an image turned counter-clockwise about its centre",
       .specs = affine_specs,
       .run =
           [](ProgramCall& call) { turn(call, {.angle = -call.attributes().number("degrees")}); }},
      {.name = "random_rotate",
       .summary = "an image turned by an angle drawn from a range",
       .random = true,
       .specs = affine_specs,
       .run =
           [](ProgramCall& call) {
             const double most = call.attributes().number("degrees");
             turn(call, {.angle = between(most, -most, call.random()[0])});
           }},
      {.name = "random_affine",
       .summary = "an image turned, moved, scaled and sheared, drawn from ranges",
       .random = true,
       .specs = random_affine_specs,
       .run = random_affine},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
