#include <plimsoll/data/augment.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <plimsoll/base/error.h>

#include "data/program/load_options.h"
#include "data/program/recorder.h"

namespace plimsoll::image {
namespace {

using data::Symbolic;

Symbolic call(std::string_view op, const Symbolic& picture, const ops::Attributes& attributes) {
  return data::record(picture.recorder(), op, {&picture, 1}, attributes).front();
}

/// A factor around 1.
Symbolic around_one(std::string_view op, const Symbolic& picture, double amount, double most) {
  return call(op, picture,
              {{"low", std::max(0.0, 1 - amount)}, {"high", 1 + amount}, {"most", most}});
}

}  // namespace

Symbolic adjust_brightness(const Symbolic& picture, double factor, double most) {
  return call("adjust_brightness", picture, {{"amount", factor}, {"most", most}});
}
Symbolic adjust_contrast(const Symbolic& picture, double factor, double most) {
  return call("adjust_contrast", picture, {{"amount", factor}, {"most", most}});
}
Symbolic adjust_saturation(const Symbolic& picture, double factor, double most) {
  return call("adjust_saturation", picture, {{"amount", factor}, {"most", most}});
}
Symbolic adjust_hue(const Symbolic& picture, double amount, double most) {
  if (!(amount >= -0.5 && amount <= 0.5)) {
    throw InvalidArgument(fmt::format("[adjust_hue] the amount is {}; give -0.5 to 0.5", amount));
  }
  return call("adjust_hue", picture, {{"amount", amount}, {"most", most}});
}
Symbolic grayscale(const Symbolic& picture) { return call("grayscale", picture, {}); }
Symbolic invert(const Symbolic& picture, double most) { return solarize(picture, 0, most); }
Symbolic solarize(const Symbolic& picture, double threshold, double most) {
  return call("solarize", picture, {{"amount", threshold}, {"most", most}});
}
Symbolic posterize(const Symbolic& picture, int bits, double most) {
  if (bits < 0 || bits > 8) {
    throw InvalidArgument(fmt::format("[posterize] {} bits; give 0 to 8", bits));
  }
  return call("posterize", picture, {{"amount", static_cast<double>(bits)}, {"most", most}});
}
Symbolic adjust_sharpness(const Symbolic& picture, double factor, double most) {
  return call("adjust_sharpness", picture, {{"amount", factor}, {"most", most}});
}
Symbolic autocontrast(const Symbolic& picture, double most) {
  return call("autocontrast", picture, {{"most", most}});
}
Symbolic equalize(const Symbolic& picture, double most) {
  return call("equalize", picture, {{"most", most}});
}
Symbolic tf_adjust_brightness(const Symbolic& picture, double amount, double most) {
  return call("tf_adjust_brightness", picture, {{"amount", amount}, {"most", most}});
}
Symbolic tf_adjust_contrast(const Symbolic& picture, double factor, double most) {
  return call("tf_adjust_contrast", picture, {{"amount", factor}, {"most", most}});
}
Symbolic tf_adjust_saturation(const Symbolic& picture, double factor, double most) {
  return call("tf_adjust_saturation", picture, {{"amount", factor}, {"most", most}});
}
Symbolic gaussian_blur(const Symbolic& picture, int size, double sigma) {
  return call("gaussian_blur", picture, {{"size", std::int64_t{size}}, {"sigma", sigma}});
}
Symbolic erase(const Symbolic& picture, int y, int x, int height, int width, double value) {
  return call("erase", picture,
              {{"y", std::int64_t{y}},
               {"x", std::int64_t{x}},
               {"height", std::int64_t{height}},
               {"width", std::int64_t{width}},
               {"value", value}});
}
Symbolic affine(const Symbolic& picture, const AffineOptions& options) {
  return call("affine", picture,
              {{"angle", options.angle},
               {"translate_x", options.translate_x},
               {"translate_y", options.translate_y},
               {"scale", options.scale},
               {"shear_x", options.shear_x},
               {"shear_y", options.shear_y},
               {"bilinear", options.bilinear},
               {"fill", options.fill}});
}
Symbolic rotate(const Symbolic& picture, double degrees, bool bilinear, double fill) {
  return call("rotate", picture, {{"degrees", degrees}, {"bilinear", bilinear}, {"fill", fill}});
}

Symbolic random_brightness(const Symbolic& picture, double amount, double most) {
  return around_one("random_brightness", picture, amount, most);
}
Symbolic random_contrast(const Symbolic& picture, double amount, double most) {
  return around_one("random_contrast", picture, amount, most);
}
Symbolic random_saturation(const Symbolic& picture, double amount, double most) {
  return around_one("random_saturation", picture, amount, most);
}
Symbolic random_hue(const Symbolic& picture, double amount, double most) {
  if (!(amount >= 0 && amount <= 0.5)) {
    throw InvalidArgument(fmt::format("[random_hue] the amount is {}; give 0 to 0.5", amount));
  }
  return call("random_hue", picture, {{"low", -amount}, {"high", amount}, {"most", most}});
}
Symbolic random_grayscale(const Symbolic& picture, double probability) {
  return call("random_grayscale", picture, {{"probability", probability}});
}
Symbolic random_solarize(const Symbolic& picture, double threshold, double probability,
                         double most) {
  return call("random_solarize", picture,
              {{"amount", threshold}, {"probability", probability}, {"most", most}});
}
Symbolic random_rotate(const Symbolic& picture, double degrees, bool bilinear, double fill) {
  return call("random_rotate", picture,
              {{"degrees", degrees}, {"bilinear", bilinear}, {"fill", fill}});
}
Symbolic random_blur(const Symbolic& picture, int size, double low, double high) {
  return call("random_blur", picture, {{"size", std::int64_t{size}}, {"low", low}, {"high", high}});
}
Symbolic random_erase(const Symbolic& picture, double probability, double value) {
  return call("random_erase", picture, {{"probability", probability}, {"value", value}});
}

Symbolic random_posterize(const Symbolic& picture, int bits, double probability, double most) {
  if (bits < 0 || bits > 8) {
    throw InvalidArgument(fmt::format("[random_posterize] {} bits; give 0 to 8", bits));
  }
  return call(
      "random_posterize", picture,
      {{"amount", static_cast<double>(bits)}, {"probability", probability}, {"most", most}});
}
Symbolic random_resized_crop(const Symbolic& picture, int height, int width,
                             const ResizedCropOptions& options) {
  return call("random_resized_crop", picture,
              {{"height", std::int64_t{height}},
               {"width", std::int64_t{width}},
               {"scale_low", options.scale_low},
               {"scale_high", options.scale_high},
               {"ratio_low", options.ratio_low},
               {"ratio_high", options.ratio_high},
               {"filter", std::string(data::filter_name(options.resize.filter))},
               {"antialias", options.resize.antialias}});
}
Symbolic random_affine(const Symbolic& picture, const RandomAffineOptions& options) {
  return call("random_affine", picture,
              {{"degrees", options.degrees},
               {"translate_x", options.translate_x},
               {"translate_y", options.translate_y},
               {"scale_low", options.scale_low},
               {"scale_high", options.scale_high},
               {"shear", options.shear},
               {"bilinear", options.bilinear},
               {"fill", options.fill}});
}
Symbolic color_jitter(const Symbolic& picture, const ColorJitterOptions& options, double most) {
  return call("color_jitter", picture,
              {{"brightness", options.brightness},
               {"contrast", options.contrast},
               {"saturation", options.saturation},
               {"hue", options.hue},
               {"most", most}});
}
Symbolic rand_augment(const Symbolic& picture, const RandAugmentOptions& options, double most) {
  return call("rand_augment", picture,
              {{"count", std::int64_t{options.count}},
               {"level", std::int64_t{options.level}},
               {"bins", std::int64_t{options.bins}},
               {"most", most}});
}
Symbolic augment(const Symbolic& picture, const std::string& kind, double magnitude, double most) {
  return call("augment", picture, {{"kind", kind}, {"magnitude", magnitude}, {"most", most}});
}

namespace {

MixedBatch call_on_batch(std::string_view op, const Symbolic& pictures, const Symbolic& labels,
                         const ops::Attributes& attributes) {
  const std::array<Symbolic, 2> inputs = {pictures, labels};
  const std::vector<Symbolic> mixed = data::record(pictures.recorder(), op, inputs, attributes);
  return {mixed[0], mixed[1]};
}

}  // namespace

MixedBatch mixup(const Symbolic& pictures, const Symbolic& labels, int classes, double share) {
  return call_on_batch("mixup", pictures, labels,
                       {{"classes", std::int64_t{classes}}, {"share", share}});
}
MixedBatch random_mixup(const Symbolic& pictures, const Symbolic& labels, int classes,
                        double alpha) {
  return call_on_batch("random_mixup", pictures, labels,
                       {{"classes", std::int64_t{classes}}, {"alpha", alpha}});
}
MixedBatch cutmix(const Symbolic& pictures, const Symbolic& labels, int classes, int y, int x,
                  int height, int width, bool planes) {
  return call_on_batch("cutmix", pictures, labels,
                       {{"classes", std::int64_t{classes}},
                        {"y", std::int64_t{y}},
                        {"x", std::int64_t{x}},
                        {"height", std::int64_t{height}},
                        {"width", std::int64_t{width}},
                        {"planes", planes}});
}
MixedBatch random_cutmix(const Symbolic& pictures, const Symbolic& labels, int classes,
                         double alpha, bool planes) {
  return call_on_batch("random_cutmix", pictures, labels,
                       {{"classes", std::int64_t{classes}}, {"alpha", alpha}, {"planes", planes}});
}

}  // namespace plimsoll::image
