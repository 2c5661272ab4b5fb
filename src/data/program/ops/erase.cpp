// A window of a picture filled with a value: given, or drawn as torchvision's RandomErasing does.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "data/program/picture.h"

namespace plimsoll::data::program_ops {
namespace {

std::vector<TensorSpec> erase_specs(const SpecInputs& inputs) {
  inputs.require_picture(0);
  const double value = inputs.attributes().number("value");
  if (inputs[0].dtype == DType::u8 && !(value >= 0 && value <= 255)) {
    inputs.fail(fmt::format("value is {}; a u8 image has 0 to 255", value));
  }
  return {inputs[0]};
}

template <class T>
void fill(Tensor& to, const image::Window& window, double value) {
  const image::View<T> out = picture<T>(to);
  const int bottom = std::min(window.y + window.height, out.height);
  const int right = std::min(window.x + window.width, out.width);
  for (int y = std::max(window.y, 0); y < bottom; ++y) {
    for (int x = std::max(window.x, 0); x < right; ++x) {
      std::fill_n(out.pixel(y, x), out.channels, static_cast<T>(value));
    }
  }
}

void erase(ProgramCall& call, const image::Window& window) {
  const ProgramInput& from = call.input(0);
  Tensor to = call.output(from.shape(), from.dtype());
  if (to.nbytes() > 0) std::memcpy(to.raw_mutable_data(), from.data(), to.nbytes());
  const double value = call.attributes().number("value");
  if (from.dtype() == DType::u8) {
    fill<std::uint8_t>(to, window, value);
  } else {
    fill<float>(to, window, value);
  }
}

/// 2% to 33% of the picture, of a shape from 0.3 to 3.3 (uniform in its logarithm): the first of
/// ten draws that fits; nothing where none does.
image::Window drawn_window(const ProgramCall& call) {
  const image::Extent e = extent_of(call.input(0).shape());
  const auto unit = [](std::uint32_t word) { return static_cast<double>(word) / 4294967296.0; };
  if (unit(call.random(0)[0]) >= call.attributes().number("probability")) return {};
  const double area = static_cast<double>(e.height) * e.width;
  for (std::uint32_t attempt = 1; attempt <= 10; ++attempt) {
    const Philox::Counter words = call.random(attempt);
    const double wanted = area * (0.02 + (0.33 - 0.02) * unit(words[0]));
    const double low = std::log(0.3);
    const double shape = std::exp(low + (std::log(3.3) - low) * unit(words[1]));
    const int height = static_cast<int>(std::nearbyint(std::sqrt(wanted * shape)));
    const int width = static_cast<int>(std::nearbyint(std::sqrt(wanted / shape)));
    if (height >= e.height || width >= e.width) continue;
    const auto offset = [](std::uint32_t word, int room) {
      return static_cast<int>(Philox::below(word, static_cast<std::uint32_t>(room) + 1));
    };
    return {.x = offset(words[3], e.width - width),
            .y = offset(words[2], e.height - height),
            .width = width,
            .height = height};
  }
  return {};
}

}  // namespace

std::span<const ProgramOp> erase() {
  static constexpr ProgramOp kOps[] = {
      {.name = "erase",
       .summary = "a window of an image filled with a value",
       .specs = erase_specs,
       .run =
           [](ProgramCall& call) {
             const auto whole = [&](const char* name) {
               return static_cast<int>(call.attributes().integer(name));
             };
             erase(call, {.x = whole("x"),
                          .y = whole("y"),
                          .width = whole("width"),
                          .height = whole("height")});
           }},
      {.name = "random_erase",
       .summary = "a drawn window of an image filled with a value",
       .random = true,
       .specs =
           [](const SpecInputs& inputs) {
             const double probability = inputs.attributes().number("probability");
             if (!(probability >= 0 && probability <= 1)) {
               inputs.fail(fmt::format("probability is {}; give one from 0 to 1", probability));
             }
             return erase_specs(inputs);
           },
       .run = [](ProgramCall& call) { erase(call, drawn_window(call)); }},
  };
  return kOps;
}

}  // namespace plimsoll::data::program_ops
