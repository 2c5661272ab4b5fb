#include "augment_option.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/data/augment.h>

namespace plimsoll::tools {
namespace {

using data::Symbolic;

/// In the order in which they are done, whatever the order in which they are named.
constexpr std::array<const char*, 9> kSteps = {
    "crop", "flip", "rotate", "colour", "randaugment", "gray", "solarize", "blur", "erase"};

constexpr double kDegrees = 15;
constexpr image::ColorJitterOptions kColour = {
    .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1};
constexpr double kGrayProbability = 0.1;
constexpr double kSolarizeFrom = 128;
constexpr double kSolarizeProbability = 0.2;
constexpr int kBlurSize = 5;

}  // namespace

std::string Augmentation::names() { return fmt::format("{}", fmt::join(kSteps, ", ")); }

Augmentation::Augmentation(const std::string& names) {
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    if (name == "color") name = "colour";
    if (std::find(kSteps.begin(), kSteps.end(), name) == kSteps.end()) {
      throw InvalidArgument(fmt::format("--augment: there is no \"{}\"; use some of {}",
                                        printable(name), Augmentation::names()));
    }
    if (!has(name)) steps_.push_back(name);
  }
}

bool Augmentation::has(const std::string& step) const {
  return std::find(steps_.begin(), steps_.end(), step) != steps_.end();
}

Symbolic Augmentation::apply(const Symbolic& picture, const image::LoadOptions& load) const {
  const bool colours = load.channels == 3;
  Symbolic x = has("crop") ? image::random_resized_crop(picture, load.height, load.width)
                           : image::resize(picture, load.height, load.width);
  if (has("flip")) x = image::random_flip(x);
  if (has("rotate")) x = image::random_rotate(x, kDegrees, true);
  if (has("colour")) x = image::color_jitter(x, kColour);
  if (has("randaugment")) x = image::rand_augment(x);
  if (has("gray") && colours) x = image::random_grayscale(x, kGrayProbability);
  if (has("solarize")) x = image::random_solarize(x, kSolarizeFrom, kSolarizeProbability);
  if (has("blur")) x = image::random_blur(x, kBlurSize);
  if (has("erase")) x = image::random_erase(x);
  return data::transpose(image::to_unit(x), {2, 0, 1});
}

}  // namespace plimsoll::tools
