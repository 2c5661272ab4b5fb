#pragma once

#include <plimsoll/data/image/info.h>
#include <plimsoll/data/image/view.h>

namespace plimsoll::image {

/// How stored pixels become upright ones: mirror stored columns and rows, then exchange them.
struct Turn {
  bool mirror_columns = false;
  bool mirror_rows = false;
  bool transpose = false;

  bool any() const { return mirror_columns || mirror_rows || transpose; }
};

/// The turn for an EXIF orientation, 1 to 8.
inline Turn turn_of(int orientation) {
  return {
      .mirror_columns =
          orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
      .mirror_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7,
      .transpose = orientation >= 5};
}

/// The part of the stored picture that `window` of the turned one shows.
inline Window stored_window(const Window& window, const Turn& turn, int width, int height) {
  const int x = turn.transpose ? window.y : window.x;
  const int y = turn.transpose ? window.x : window.y;
  const int w = turn.transpose ? window.height : window.width;
  const int h = turn.transpose ? window.width : window.height;
  return {turn.mirror_columns ? width - x - w : x, turn.mirror_rows ? height - y - h : y, w, h};
}

}  // namespace plimsoll::image
