#pragma once

#include <cstdint>

#include <plimsoll/data/image/decode.h>

#include "data/image/jpeg_session.h"

namespace plimsoll::image {

/// Sets the parameters of a session for rows of `channels` bytes per pixel (1, 3 or 4), with
/// TensorFlow's choices where libjpeg offers several, and starts it.
class JpegRows {
 public:
  /// Bytes taken from the workspace beside libjpeg's own.
  static Bytes cost(const ImageInfo& info);

  JpegRows(JpegSession& session, int channels, Dct dct, int eighths, Workspace& workspace);

  int width() const { return static_cast<int>(session_.info().output_width); }
  int height() const { return static_cast<int>(session_.info().output_height); }

  /// Reads the next row: width() pixels.
  void read(std::uint8_t* row);

 private:
  JpegSession& session_;
  int channels_;
  std::uint8_t* cmyk_ = nullptr;
};

/// libjpeg's name for a Dct.
J_DCT_METHOD dct_method(Dct dct);

}  // namespace plimsoll::image
