#pragma once

#include <functional>
#include <string_view>

#include <plimsoll/base/philox.h>
#include <plimsoll/data/image/view.h>

// The parameters of pictures' ops as they are drawn or follow from a picture's size: the same
// whether an op runs alone or within a load.

namespace plimsoll::data {

/// True with this probability.
bool drawn_flip(const Philox::Counter& words, double probability);

/// A window of `height` x `width` pixels anywhere in a picture of that size, or in its middle.
/// DataError naming `op` where the picture is smaller.
image::Window drawn_window(const Philox::Counter& words, int picture_height, int picture_width,
                           int height, int width, std::string_view op);
image::Window middle_window(int picture_height, int picture_width, int height, int width,
                            std::string_view op);
/// `window` itself, if it is inside the picture. DataError.
image::Window inner_window(int picture_height, int picture_width, const image::Window& window,
                           std::string_view op);

/// What a random resized crop draws from: shares of the area, and width / height.
struct CropRange {
  double scale_low = 0.08;
  double scale_high = 1;
  double ratio_low = 3.0 / 4;
  double ratio_high = 4.0 / 3;
};

/// A part of a picture as torchvision's RandomResizedCrop draws it: an area uniform in its range, a
/// ratio uniform in its logarithm; the first of ten draws that fits, else the middle. `words` gives
/// the words of draw 0 to 9.
image::Window drawn_resized_window(const std::function<Philox::Counter(std::uint32_t)>& words,
                                   int picture_height, int picture_width, const CropRange& range);

}  // namespace plimsoll::data
