#pragma once

#include <plimsoll/data/image/view.h>

// Pictures turned, moved, scaled and sheared as torchvision v2 does it, on floats.

namespace plimsoll::data {

struct Turning {
  double angle = 0;  ///< degrees, clockwise
  double x = 0;      ///< pixels
  double y = 0;
  double scale = 1;
  double shear_x = 0;  ///< degrees
  double shear_y = 0;
  /// What stays where it is: the picture's centre, else its upper left corner.
  bool about_centre = true;
  bool bilinear = false;
  float fill = 0;
};

/// Interleaved floats of `extent` from `in` to `out`.
void turn(float* out, const float* in, const image::Extent& extent, const Turning& how);

}  // namespace plimsoll::data
