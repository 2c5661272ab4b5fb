// Augmentation of pictures in programs.
#include <plimsoll/data/augment.h>

#include "augment.h"
#include "bind_parts.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

using Adjust = Symbolic (*)(const Symbolic&, double, double);
template <Adjust op>
void adjust(nb::module_& image, const char* name, const char* doc) {
  define(image, name, "picture: Symbolic, factor: float, *, most: float = 255.0", "Symbolic", doc,
         [](const Given& given) {
           return traced(op(picture_of(given), given.number("factor"), given.number("most")));
         });
}
template <Adjust op>
void randomly(nb::module_& image, const char* name, const char* doc) {
  define(image, name, "picture: Symbolic, amount: float, *, most: float = 255.0", "Symbolic", doc,
         [](const Given& given) {
           return traced(op(picture_of(given), given.number("amount"), given.number("most")));
         });
}

void bind_colours(nb::module_& m) {
  adjust<image::adjust_brightness>(m, "adjust_brightness",
                                   "value * factor, limited to 0 to `most`: 255, or 1 after a "
                                   "division by 255.");
  adjust<image::adjust_contrast>(m, "adjust_contrast",
                                 "Between the mean of the gray picture (0) and the picture (1).");
  adjust<image::adjust_saturation>(m, "adjust_saturation",
                                   "Between the gray picture (0) and the picture (1).");
  define(m, "adjust_hue", "picture: Symbolic, amount: float, *, most: float = 255.0", "Symbolic",
         "Turns the hue by `amount`, -0.5 to 0.5, of a full turn.", [](const Given& given) {
           return traced(
               image::adjust_hue(picture_of(given), given.number("amount"), given.number("most")));
         });
  randomly<image::random_brightness>(m, "random_brightness",
                                     "A factor in [1 - amount, 1 + amount], drawn for each element "
                                     "and epoch.\n\n>>> pm.image.random_brightness(image, 0.4)");
  randomly<image::random_contrast>(m, "random_contrast",
                                   "The contrast adjusted by a factor in [1 - amount, 1 + amount], "
                                   "drawn for each element and epoch.");
  randomly<image::random_saturation>(m, "random_saturation",
                                     "The saturation adjusted by a factor in [1 - amount, 1 + "
                                     "amount], drawn for each element and epoch.");
  randomly<image::random_hue>(m, "random_hue",
                              "The hue turned by an amount in [-amount, amount] of a full turn, "
                              "drawn for each element and epoch.");
  define(m, "grayscale", "picture: Symbolic", "Symbolic", "The gray picture, in all channels.",
         [](const Given& given) { return traced(image::grayscale(picture_of(given))); });
  define(m, "random_grayscale", "picture: Symbolic, probability: float = 0.1", "Symbolic",
         "The same with that probability.", [](const Given& given) {
           return traced(image::random_grayscale(picture_of(given), given.number("probability")));
         });
  define(m, "invert", "picture: Symbolic, *, most: float = 255.0", "Symbolic", "most - value",
         [](const Given& given) {
           return traced(image::invert(picture_of(given), given.number("most")));
         });
  define(m, "solarize", "picture: Symbolic, threshold: float, *, most: float = 255.0", "Symbolic",
         "Inverts values of at least `threshold`.", [](const Given& given) {
           return traced(
               image::solarize(picture_of(given), given.number("threshold"), given.number("most")));
         });
  define(m, "random_solarize",
         "picture: Symbolic, threshold: float, probability: float = 0.5, *, most: float = 255.0",
         "Symbolic", "The same with that probability.", [](const Given& given) {
           return traced(image::random_solarize(picture_of(given), given.number("threshold"),
                                                given.number("probability"), given.number("most")));
         });
  define(m, "posterize", "picture: Symbolic, bits: int, *, most: float = 255.0", "Symbolic",
         "Keeps the highest `bits` bits of each value, 0 to 8.", [](const Given& given) {
           return traced(image::posterize(picture_of(given), whole_number(given, "bits"),
                                          given.number("most")));
         });
}

void bind_shapes(nb::module_& m) {
  define(m, "gaussian_blur", "picture: Symbolic, size: int, sigma: float", "Symbolic",
         "Blurs with a Gaussian of `size` pixels (odd) and this standard deviation.",
         [](const Given& given) {
           return traced(image::gaussian_blur(picture_of(given), whole_number(given, "size"),
                                              given.number("sigma")));
         });
  define(m, "random_blur", "picture: Symbolic, size: int, low: float = 0.1, high: float = 2.0",
         "Symbolic", "gaussian_blur() with a deviation drawn from [low, high].",
         [](const Given& given) {
           return traced(image::random_blur(picture_of(given), whole_number(given, "size"),
                                            given.number("low"), given.number("high")));
         });
  define(m, "erase",
         "picture: Symbolic, top: int, left: int, size: int | typing.Sequence[int], *, value: "
         "float = 0.0",
         "Symbolic", "Fills a window with `value`.", [](const Given& given) {
           const auto size = given.integers("size");
           if (size.empty() || size.size() > 2) {
             wrong_value(given.where("size"), given.value("size"),
                         "it must be pixels: 16, or (height, width)");
           }
           return traced(image::erase(picture_of(given), whole_number(given, "top"),
                                      whole_number(given, "left"), static_cast<int>(size.front()),
                                      static_cast<int>(size.back()), given.number("value")));
         });
  define(m, "random_erase", "picture: Symbolic, probability: float = 0.5, *, value: float = 0.0",
         "Symbolic", "Fills a random window of 2% to 33% of the picture, with that probability.",
         [](const Given& given) {
           return traced(image::random_erase(picture_of(given), given.number("probability"),
                                             given.number("value")));
         });
  define(m, "rotate",
         "picture: Symbolic, degrees: float, *, bilinear: bool = False, fill: float = 0.0",
         "Symbolic", "Rotates a picture counter-clockwise by `degrees` and keeps its size.",
         [](const Given& given) {
           return traced(image::rotate(picture_of(given), given.number("degrees"),
                                       given.flag("bilinear"), given.number("fill")));
         });
  define(m, "random_rotate",
         "picture: Symbolic, degrees: float, *, bilinear: bool = False, fill: float = 0.0",
         "Symbolic",
         "Rotates by an angle in [-degrees, degrees], drawn for each element and epoch.",
         [](const Given& given) {
           return traced(image::random_rotate(picture_of(given), given.number("degrees"),
                                              given.flag("bilinear"), given.number("fill")));
         });
  define(m, "affine",
         "picture: Symbolic, *, angle: float = 0.0, translate_x: float = 0.0, translate_y: float = "
         "0.0, scale: float = 1.0, shear_x: float = 0.0, shear_y: float = 0.0, bilinear: bool = "
         "False, fill: float = 0.0",
         "Symbolic",
         "Turns, moves, scales and shears a picture about its centre and keeps its size.",
         [](const Given& given) {
           return traced(image::affine(
               picture_of(given),
               {given.number("angle"), given.number("translate_x"), given.number("translate_y"),
                given.number("scale"), given.number("shear_x"), given.number("shear_y"),
                given.flag("bilinear"), given.number("fill")}));
         });
}

}  // namespace

void bind_augment(nb::module_& image) {
  bind_colours(image);
  bind_shapes(image);
}

}  // namespace plimsoll::python
