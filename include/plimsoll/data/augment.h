#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/data/image/resize.h>
#include <plimsoll/data/symbolic.h>

namespace plimsoll::image {

// Augmentation of pictures in programs, with torchvision v2's definitions. Every change has a form
// with given parameters and one that draws them for each element (random_...), as a pure function
// of seed, epoch, element and the op's place.
//
// Pictures are u8 or f32 [height, width, channels], 1 or 3 channels where colours are meant, and
// keep their dtype: u8 is computed in f32, kept within 0 to 255 and cut off (rounded after blur and
// turning), as there. f32 is kept within 0 to `most`: 255 for what was decoded and resized, 1 after
// a division by 255.

/// value * factor.
data::Symbolic adjust_brightness(const data::Symbolic& picture, double factor, double most = 255);
/// Between the mean of the gray picture (0) and the picture (1), and beyond.
data::Symbolic adjust_contrast(const data::Symbolic& picture, double factor, double most = 255);
/// Between the gray picture (0) and the picture (1), and beyond. 3 channels.
data::Symbolic adjust_saturation(const data::Symbolic& picture, double factor, double most = 255);
/// Turns the hue by `amount`, -0.5 to 0.5, of a full turn. 3 channels.
data::Symbolic adjust_hue(const data::Symbolic& picture, double amount, double most = 255);
/// The gray picture in all channels: 0.2989 R + 0.587 G + 0.114 B. 3 channels.
data::Symbolic grayscale(const data::Symbolic& picture);
/// most - value.
data::Symbolic invert(const data::Symbolic& picture, double most = 255);
/// Values of at least `threshold` inverted.
data::Symbolic solarize(const data::Symbolic& picture, double threshold, double most = 255);
/// `bits` bits of each value, 0 to 8.
data::Symbolic posterize(const data::Symbolic& picture, int bits, double most = 255);
/// Between a smoothed picture (0) and the picture (1), and beyond.
data::Symbolic adjust_sharpness(const data::Symbolic& picture, double factor, double most = 255);
/// Each channel stretched so that its smallest value is 0 and its largest `most`.
data::Symbolic autocontrast(const data::Symbolic& picture, double most = 255);
/// Each channel so that its values are about equally frequent.
data::Symbolic equalize(const data::Symbolic& picture, double most = 255);
/// A Gaussian of `size` pixels (odd) and this deviation; the picture is reflected at its edges.
data::Symbolic gaussian_blur(const data::Symbolic& picture, int size, double sigma);
/// `value` in a window. What of it lies outside is left out.
data::Symbolic erase(const data::Symbolic& picture, int y, int x, int height, int width,
                     double value = 0);

// What tf.image defines otherwise; u8 is rounded, f32 is not kept within a range, as there.

/// value + amount * most.
data::Symbolic tf_adjust_brightness(const data::Symbolic& picture, double amount,
                                    double most = 255);
/// Away from the mean of each channel.
data::Symbolic tf_adjust_contrast(const data::Symbolic& picture, double factor, double most = 255);
/// The saturation of HSV multiplied. 3 channels.
data::Symbolic tf_adjust_saturation(const data::Symbolic& picture, double factor,
                                    double most = 255);

/// How a picture is turned about its centre, keeping its size.
struct AffineOptions {
  double angle = 0;        ///< degrees, clockwise for affine() as in torchvision
  double translate_x = 0;  ///< pixels
  double translate_y = 0;
  double scale = 1;
  double shear_x = 0;  ///< degrees
  double shear_y = 0;
  bool bilinear = false;  ///< else the nearest pixel
  double fill = 0;        ///< where the picture has no pixels
};
data::Symbolic affine(const data::Symbolic& picture, const AffineOptions& options);
/// Counter-clockwise by `degrees`.
data::Symbolic rotate(const data::Symbolic& picture, double degrees, bool bilinear = false,
                      double fill = 0);

/// Factors are uniform in [max(0, 1 - amount), 1 + amount].
data::Symbolic random_brightness(const data::Symbolic& picture, double amount, double most = 255);
data::Symbolic random_contrast(const data::Symbolic& picture, double amount, double most = 255);
data::Symbolic random_saturation(const data::Symbolic& picture, double amount, double most = 255);
/// Turned by a uniform amount in [-amount, amount]; amount is at most 0.5.
data::Symbolic random_hue(const data::Symbolic& picture, double amount, double most = 255);
/// With this probability.
data::Symbolic random_grayscale(const data::Symbolic& picture, double probability = 0.1);
data::Symbolic random_solarize(const data::Symbolic& picture, double threshold,
                               double probability = 0.5, double most = 255);
/// By a uniform angle in [-degrees, degrees].
data::Symbolic random_rotate(const data::Symbolic& picture, double degrees, bool bilinear = false,
                             double fill = 0);
/// A deviation uniform in [low, high].
data::Symbolic random_blur(const data::Symbolic& picture, int size, double low = 0.1,
                           double high = 2.0);
/// A window of 2% to 33% of the picture, of a shape from 0.3 to 3.3, as RandomErasing.
data::Symbolic random_erase(const data::Symbolic& picture, double probability = 0.5,
                            double value = 0);

data::Symbolic random_posterize(const data::Symbolic& picture, int bits, double probability = 0.5,
                                double most = 255);

/// What random_resized_crop() draws from, and how it resizes. torchvision's defaults.
struct ResizedCropOptions {
  double scale_low = 0.08;  ///< shares of the picture's area
  double scale_high = 1;
  double ratio_low = 3.0 / 4;  ///< width / height
  double ratio_high = 4.0 / 3;
  ResizeOptions resize{.filter = Filter::bilinear, .antialias = true};
};
/// A part of a random area and shape, resized to `height` x `width`: f32, values as before.
/// Directly after decode(), nothing but the part is transformed to pixels.
data::Symbolic random_resized_crop(const data::Symbolic& picture, int height, int width,
                                   const ResizedCropOptions& options = {});

/// What random_affine() draws from.
struct RandomAffineOptions {
  double degrees = 0;      ///< angles in [-degrees, degrees]
  double translate_x = 0;  ///< up to this share of the width, whole pixels
  double translate_y = 0;
  double scale_low = 1;
  double scale_high = 1;
  double shear = 0;  ///< degrees along x, in [-shear, shear]
  bool bilinear = false;
  double fill = 0;
};
data::Symbolic random_affine(const data::Symbolic& picture, const RandomAffineOptions& options);

/// Amounts of color_jitter(): factors in [max(0, 1 - amount), 1 + amount], the hue in
/// [-amount, amount]; 0 leaves one out.
struct ColorJitterOptions {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
};
/// All four, in a random order.
data::Symbolic color_jitter(const data::Symbolic& picture, const ColorJitterOptions& options,
                            double most = 255);

/// `count` changes of RandAugment's fourteen, each of strength `level` of 0 to `bins` - 1.
struct RandAugmentOptions {
  int count = 2;
  int level = 9;
  int bins = 31;
};
data::Symbolic rand_augment(const data::Symbolic& picture, const RandAugmentOptions& options = {},
                            double most = 255);
/// One of them: Identity, ShearX, ShearY, TranslateX, TranslateY, Rotate, Brightness, Color,
/// Contrast, Sharpness, Posterize, Solarize, AutoContrast or Equalize. `magnitude` is a slope,
/// pixels, degrees, an addition to the factor 1, bits, or a share of `most`.
data::Symbolic augment(const data::Symbolic& picture, const std::string& kind, double magnitude,
                       double most = 255);

// On batches, after batch(): pictures f32 [batch, height, width, channels], labels i64 [batch] or
// f32 [batch, classes]. Each picture goes with the one before it, the first with the last. Labels
// become f32 [batch, classes]: shares that sum to 1.

struct MixedBatch {
  data::Symbolic pictures;
  data::Symbolic labels;
};
/// picture * share + the one before * (1 - share).
MixedBatch mixup(const data::Symbolic& pictures, const data::Symbolic& labels, int classes,
                 double share);
/// The share is drawn from Beta(alpha, alpha) for each batch.
MixedBatch random_mixup(const data::Symbolic& pictures, const data::Symbolic& labels, int classes,
                        double alpha = 1);
/// A window comes from the picture before. `planes`: batches are [batch, channels, height, width].
MixedBatch cutmix(const data::Symbolic& pictures, const data::Symbolic& labels, int classes, int y,
                  int x, int height, int width, bool planes = false);
/// A window of a share of the area that is drawn from Beta(alpha, alpha), anywhere.
MixedBatch random_cutmix(const data::Symbolic& pictures, const data::Symbolic& labels, int classes,
                         double alpha = 1, bool planes = false);

}  // namespace plimsoll::image
