// Augmentation with given parameters beside what torchvision v2 and tf.image made of 50 pictures:
// tests/data/record/record_augment.py. PLIMSOLL_AUGMENT_RECORDED names another folder to compare
// with.

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include <plimsoll/data/augment.h>

#include "data/image_support.h"
#include "data/program/program_support.h"

namespace plimsoll::data::testing {
namespace {

using Json = nlohmann::json;

/// An op with its recorded parameters; `most` is 255 or 1.
using Op = std::function<Symbolic(const Symbolic&, const Json&, double most)>;

Op by_factor(Symbolic (*op)(const Symbolic&, double, double)) {
  return
      [op](const Symbolic& x, const Json& p, double most) { return op(x, p.at("factor"), most); };
}

Symbolic affine(const Symbolic& x, const Json& p, double most) {
  return image::affine(x, {.angle = p.at("angle"),
                           .translate_x = p.at("translate_x"),
                           .translate_y = p.at("translate_y"),
                           .scale = p.at("scale"),
                           .shear_x = p.at("shear_x"),
                           .shear_y = p.at("shear_y"),
                           .bilinear = p.at("bilinear"),
                           .fill = p.at("fill").get<double>() / 255 * most});
}

Symbolic resized_crop(const Symbolic& x, const Json& p, double) {
  return image::resize(image::crop(x, p.at("y"), p.at("x"), p.at("height"), p.at("width")),
                       p.at("out_height"), p.at("out_width"),
                       {.filter = image::Filter::bilinear, .antialias = p.at("antialias")});
}

std::map<std::string, Op> all_ops() {
  return {
      {"adjust_brightness", by_factor(image::adjust_brightness)},
      {"adjust_contrast", by_factor(image::adjust_contrast)},
      {"adjust_saturation", by_factor(image::adjust_saturation)},
      {"adjust_hue", by_factor(image::adjust_hue)},
      {"adjust_sharpness", by_factor(image::adjust_sharpness)},
      {"tf_adjust_brightness", by_factor(image::tf_adjust_brightness)},
      {"tf_adjust_contrast", by_factor(image::tf_adjust_contrast)},
      {"tf_adjust_saturation", by_factor(image::tf_adjust_saturation)},
      {"tf_adjust_hue", by_factor(image::adjust_hue)},
      {"affine", affine},
      {"resized_crop", resized_crop},
      {"grayscale", [](auto& x, auto&, double) { return image::grayscale(x); }},
      {"invert", [](auto& x, auto&, double most) { return image::invert(x, most); }},
      {"solarize",
       [](auto& x, auto& p, double most) {
         return image::solarize(x, p.at("threshold").template get<double>() / 255 * most, most);
       }},
      {"posterize",
       [](auto& x, auto& p, double most) { return image::posterize(x, p.at("bits"), most); }},
      {"autocontrast", [](auto& x, auto&, double most) { return image::autocontrast(x, most); }},
      {"equalize", [](auto& x, auto&, double most) { return image::equalize(x, most); }},
      {"gaussian_blur",
       [](auto& x, auto& p, double) {
         return image::gaussian_blur(x, p.at("size"), p.at("sigma"));
       }},
      {"erase",
       [](auto& x, auto& p, double most) {
         return image::erase(x, p.at("y"), p.at("x"), p.at("height"), p.at("width"),
                             p.at("value").template get<double>() / 255 * most);
       }},
      {"rotate",
       [](auto& x, auto& p, double most) {
         return image::rotate(x, p.at("degrees"), p.at("bilinear"),
                              p.at("fill").template get<double>() / 255 * most);
       }},
      {"flip_left_right", [](auto& x, auto&, double) { return image::flip_left_right(x); }},
      {"flip_up_down", [](auto& x, auto&, double) { return image::flip_up_down(x); }},
      {"augment",
       [](auto& x, auto& p, double most) {
         return image::augment(x, p.at("kind"), p.at("magnitude"), most);
       }},
  };
}

class AugmentRecorded : public ::testing::TestWithParam<const char*> {
 protected:
  AugmentRecorded() {
    const char* const other = std::getenv("PLIMSOLL_AUGMENT_RECORDED");
    const std::filesystem::path folder =
        other != nullptr ? std::filesystem::path(other) : image::testing::recorded_folder();
    std::ifstream in(folder / (std::string(GetParam()) + ".json"));
    about_ = Json::parse(in);
    blob_ = image::testing::read_bytes(folder / (std::string(GetParam()) + ".bin"));
  }

  const std::uint8_t* bytes(std::size_t offset) const {
    return reinterpret_cast<const std::uint8_t*>(blob_.data()) + offset;
  }

  /// The largest difference, in 255ths.
  double difference(const Json& entry, const Op& op) {
    const bool floats = entry.at("floats");
    const Shape shape{about_.at("height").get<std::int64_t>(),
                      about_.at("width").get<std::int64_t>(), 3};
    const Program program = trace_program(
        elements_of({TensorSpec::of(floats ? DType::f32 : DType::u8, shape)}),
        [&](const Symbolic& x) { return op(x, entry.at("parameters"), floats ? 1 : 255); });
    const std::int64_t size =
        entry.at("height").get<std::int64_t>() * entry.at("width").get<std::int64_t>() * 3;
    double largest = 0;
    for (std::int64_t i = 0; i < entry.at("count").get<std::int64_t>(); ++i) {
      const std::uint8_t* const picture = bytes(static_cast<std::size_t>(i * shape.elements()));
      const std::vector<float> ours = changed(program, picture, shape, floats);
      EXPECT_EQ(ours.size(), static_cast<std::size_t>(size));
      const auto at = entry.at("offset").get<std::size_t>() +
                      static_cast<std::size_t>(i * size) * (floats ? 2 : 1);
      for (std::size_t k = 0; k < ours.size(); ++k) {
        const double theirs =
            floats ? (bytes(at)[2 * k] + 256 * bytes(at)[2 * k + 1]) / 65535.0 * 4 * 255 - 255
                   : bytes(at)[k];
        largest = std::max(largest, std::abs(ours[k] - theirs));
      }
    }
    return largest;
  }

  /// The result on the scale of 0 to 255.
  std::vector<float> changed(const Program& program, const std::uint8_t* picture,
                             const Shape& shape, bool floats) {
    const auto count = static_cast<std::size_t>(shape.elements());
    Value value;
    if (floats) {
      std::vector<float> pixels(picture, picture + count);
      for (float& pixel : pixels) pixel /= 255;
      value = Value(row_of<float>(pixels, shape, device_));
    } else {
      value = Value(row_of<std::uint8_t>({picture, picture + count}, shape, device_));
    }
    const Tensor result = program.run({value}, device_, 1)[0].tensor();
    if (result.dtype() == DType::u8) {
      const auto pixels = result.to_vector<std::uint8_t>();
      return {pixels.begin(), pixels.end()};
    }
    std::vector<float> pixels = result.to_vector<float>();
    // torchvision rounds what it makes of bytes.
    for (float& pixel : pixels) pixel = floats ? pixel * 255 : std::nearbyint(pixel);
    return pixels;
  }

  Device device_ = host();
  Json about_;
  image::testing::File blob_;
};

TEST_P(AugmentRecorded, EveryChangeIsWithinOne255th) {
  const std::map<std::string, Op> ops = all_ops();
  for (const Json& entry : about_.at("cases")) {
    // What 16 bits of -1 to 3 cannot tell apart.
    constexpr double kStored = 4.0 / 65535 * 255;
    EXPECT_LE(difference(entry, ops.at(entry.at("op"))), 1 + kStored) << entry.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(By, AugmentRecorded, ::testing::Values("augment_torch", "augment_tf"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace plimsoll::data::testing
