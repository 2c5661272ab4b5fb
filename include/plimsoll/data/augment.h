#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
/// A Gaussian of `size` pixels (odd) and this deviation; the picture is reflected at its edges.
data::Symbolic gaussian_blur(const data::Symbolic& picture, int size, double sigma);
/// `value` in a window. What of it lies outside is left out.
data::Symbolic erase(const data::Symbolic& picture, int y, int x, int height, int width,
                     double value = 0);

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

}  // namespace plimsoll::image
