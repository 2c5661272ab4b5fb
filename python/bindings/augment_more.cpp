// Augmentation of pictures in programs: several changes at once, those of tf.image, and batches.
#include <plimsoll/data/augment.h>

#include <tuple>

#include "augment.h"
#include "bind_parts.h"

namespace plimsoll::python {
namespace {

using data::Symbolic;

/// (low, high)
std::pair<double, double> range(const Given& given, const char* name) {
  const std::vector<double> ends = given.numbers(name);
  if (ends.size() != 2) {
    wrong_value(given.where(name), given.value(name), "it must be two numbers: (low, high)");
  }
  return {ends[0], ends[1]};
}

#define PLIMSOLL_FACTOR "picture: Symbolic, factor: float, *, most: float = 255.0"

void bind_tf(nb::module_& m) {
  define(m, "tf_adjust_brightness", "picture: Symbolic, amount: float, *, most: float = 255.0",
         "Symbolic",
         "value + amount * most, as tf.image.adjust_brightness: u8 is rounded, f32 is not kept "
         "within a range.",
         [](const Given& given) {
           return traced(image::tf_adjust_brightness(picture_of(given), given.number("amount"),
                                                     given.number("most")));
         });
  define(m, "tf_adjust_contrast", PLIMSOLL_FACTOR, "Symbolic",
         "Away from the mean of each channel, as tf.image.adjust_contrast.",
         [](const Given& given) {
           return traced(image::tf_adjust_contrast(picture_of(given), given.number("factor"),
                                                   given.number("most")));
         });
  define(m, "tf_adjust_saturation", PLIMSOLL_FACTOR, "Symbolic",
         "The saturation of HSV multiplied, as tf.image.adjust_saturation.",
         [](const Given& given) {
           return traced(image::tf_adjust_saturation(picture_of(given), given.number("factor"),
                                                     given.number("most")));
         });
}

void bind_changes(nb::module_& m) {
  define(m, "adjust_sharpness", PLIMSOLL_FACTOR, "Symbolic",
         "Between a smoothed picture (0) and the picture (1), and beyond.", [](const Given& given) {
           return traced(image::adjust_sharpness(picture_of(given), given.number("factor"),
                                                 given.number("most")));
         });
  define(m, "autocontrast", "picture: Symbolic, *, most: float = 255.0", "Symbolic",
         "Stretches each channel so that its smallest value is 0 and its largest `most`.",
         [](const Given& given) {
           return traced(image::autocontrast(picture_of(given), given.number("most")));
         });
  define(m, "equalize", "picture: Symbolic, *, most: float = 255.0", "Symbolic",
         "Equalises the histogram of each channel.", [](const Given& given) {
           return traced(image::equalize(picture_of(given), given.number("most")));
         });
  define(
      m, "random_posterize",
      "picture: Symbolic, bits: int, probability: float = 0.5, *, most: float = 255.0", "Symbolic",
      "posterize() with that probability.", [](const Given& given) {
        return traced(image::random_posterize(picture_of(given), whole_number(given, "bits"),
                                              given.number("probability"), given.number("most")));
      });
  define(m, "augment", "picture: Symbolic, kind: str, magnitude: float, *, most: float = 255.0",
         "Symbolic",
         "One change of RandAugment: \"Identity\", \"ShearX\", \"ShearY\", \"TranslateX\", "
         "\"TranslateY\", \"Rotate\", \"Brightness\", \"Color\", \"Contrast\", \"Sharpness\", "
         "\"Posterize\", \"Solarize\", \"AutoContrast\" or \"Equalize\". `magnitude` is a slope, "
         "pixels, degrees, an addition to the factor 1, bits, or a share of `most`.",
         [](const Given& given) {
           return traced(image::augment(picture_of(given), given.text("kind"),
                                        given.number("magnitude"), given.number("most")));
         });
}

void bind_random(nb::module_& m) {
  define(
      m, "random_resized_crop",
      "picture: Symbolic, size: int | typing.Sequence[int], *, scale: typing.Sequence[float] = "
      "(0.08, 1.0), ratio: typing.Sequence[float] = (0.75, 1.3333333333333333), filter: str = "
      "'bilinear', antialias: bool = True",
      "Symbolic",
      "A part of a random area (shares of the picture's, `scale`) and shape (width / height, "
      "`ratio`), resized: f32, values as before. Directly after the file is read, nothing but "
      "the part is decoded to pixels.\n\n"
      ">>> files.map(lambda path, label: (pm.image.random_resized_crop(path, 224), label))",
      [](const Given& given) {
        const auto size = given.integers("size");
        if (size.empty() || size.size() > 2) {
          wrong_value(given.where("size"), given.value("size"),
                      "it must be pixels: 224, or (height, width)");
        }
        image::ResizedCropOptions options;
        std::tie(options.scale_low, options.scale_high) = range(given, "scale");
        std::tie(options.ratio_low, options.ratio_high) = range(given, "ratio");
        constexpr image::Filter filters[] = {image::Filter::bilinear, image::Filter::nearest,
                                             image::Filter::bicubic, image::Filter::area};
        options.resize.filter =
            filters[given.choice("filter", {"bilinear", "nearest", "bicubic", "area"})];
        options.resize.antialias = given.flag("antialias");
        return traced(image::random_resized_crop(picture_of(given), static_cast<int>(size.front()),
                                                 static_cast<int>(size.back()), options));
      });
  define(m, "random_affine",
         "picture: Symbolic, degrees: float = 0.0, *, translate: typing.Sequence[float] = (0.0, "
         "0.0), scale: typing.Sequence[float] = (1.0, 1.0), shear: float = 0.0, bilinear: bool = "
         "False, fill: float = 0.0",
         "Symbolic",
         "Turned by an angle in [-degrees, degrees], moved by up to these shares of the width and "
         "the height, scaled by a factor in `scale` and sheared by up to `shear` degrees.",
         [](const Given& given) {
           image::RandomAffineOptions options;
           options.degrees = given.number("degrees");
           std::tie(options.translate_x, options.translate_y) = range(given, "translate");
           std::tie(options.scale_low, options.scale_high) = range(given, "scale");
           options.shear = given.number("shear");
           options.bilinear = given.flag("bilinear");
           options.fill = given.number("fill");
           return traced(image::random_affine(picture_of(given), options));
         });
  define(m, "color_jitter",
         "picture: Symbolic, *, brightness: float = 0.0, contrast: float = 0.0, saturation: float "
         "= 0.0, hue: float = 0.0, most: float = 255.0",
         "Symbolic",
         "random_brightness, random_contrast, random_saturation and random_hue of these amounts, "
         "in a random order; 0 leaves one out.\n\n"
         ">>> pm.image.color_jitter(image, brightness=0.4, contrast=0.4, hue=0.1)",
         [](const Given& given) {
           return traced(image::color_jitter(picture_of(given),
                                             {given.number("brightness"), given.number("contrast"),
                                              given.number("saturation"), given.number("hue")},
                                             given.number("most")));
         });
  define(m, "rand_augment",
         "picture: Symbolic, *, count: int = 2, level: int = 9, bins: int = 31, most: float = "
         "255.0",
         "Symbolic",
         "`count` changes of RandAugment's fourteen, each of strength `level` of 0 to bins - 1.\n\n"
         ">>> pm.image.rand_augment(image, count=2, level=9)",
         [](const Given& given) {
           return traced(
               image::rand_augment(picture_of(given),
                                   {whole_number(given, "count"), whole_number(given, "level"),
                                    whole_number(given, "bins")},
                                   given.number("most")));
         });
}

Symbolic component(const Given& given, const char* name) {
  return as_symbolic(given.value(name), given.where(name));
}
nb::object both(image::MixedBatch made) {
  return nb::make_tuple(Traced{std::move(made.pictures)}, Traced{std::move(made.labels)});
}

#define PLIMSOLL_MIXED "pictures: Symbolic, labels: Symbolic, classes: int, "
#define PLIMSOLL_PAIR "tuple[Symbolic, Symbolic]"

void bind_batches(nb::module_& m) {
  define(m, "mixup", PLIMSOLL_MIXED "share: float", PLIMSOLL_PAIR,
         "Of a batch: picture * share + the one before it * (1 - share). Labels i64 [batch] or f32 "
         "[batch, classes] become shares f32 [batch, classes].",
         [](const Given& given) {
           return both(image::mixup(component(given, "pictures"), component(given, "labels"),
                                    whole_number(given, "classes"), given.number("share")));
         });
  define(m, "random_mixup", PLIMSOLL_MIXED "alpha: float = 1.0", PLIMSOLL_PAIR,
         "mixup() with a share drawn from Beta(alpha, alpha) for each batch.\n\n"
         ">>> train.batch(64).map(lambda x, y: pm.image.random_mixup(x, y, 10, 0.2))",
         [](const Given& given) {
           return both(image::random_mixup(component(given, "pictures"), component(given, "labels"),
                                           whole_number(given, "classes"), given.number("alpha")));
         });
  define(m, "cutmix",
         PLIMSOLL_MIXED
         "top: int, left: int, size: int | typing.Sequence[int], *, planes: bool = False",
         PLIMSOLL_PAIR,
         "Of a batch: a window of each picture comes from the one before it, and labels by its "
         "area. `planes`: batches are [batch, channels, height, width].",
         [](const Given& given) {
           const auto size = given.integers("size");
           if (size.empty() || size.size() > 2) {
             wrong_value(given.where("size"), given.value("size"),
                         "it must be pixels: 16, or (height, width)");
           }
           return both(image::cutmix(component(given, "pictures"), component(given, "labels"),
                                     whole_number(given, "classes"), whole_number(given, "top"),
                                     whole_number(given, "left"), static_cast<int>(size.front()),
                                     static_cast<int>(size.back()), given.flag("planes")));
         });
  define(m, "random_cutmix", PLIMSOLL_MIXED "alpha: float = 1.0, *, planes: bool = False",
         PLIMSOLL_PAIR,
         "cutmix() with a window of a share of the area drawn from Beta(alpha, alpha), anywhere.",
         [](const Given& given) {
           return both(image::random_cutmix(
               component(given, "pictures"), component(given, "labels"),
               whole_number(given, "classes"), given.number("alpha"), given.flag("planes")));
         });
}

}  // namespace

void bind_augment_more(nb::module_& image) {
  bind_tf(image);
  bind_changes(image);
  bind_random(image);
  bind_batches(image);
}

}  // namespace plimsoll::python
