#include "data/image/jpeg_rows.h"

#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::image {
namespace {

// TensorFlow's conversion. Adobe's programs store inverted inks.
void cmyk_to_rgb(std::uint8_t* out, const std::uint8_t* in, int n, int channels, bool inverted) {
  for (int i = 0; i < n; ++i, in += 4, out += channels) {
    for (int c = 0; c < 3; ++c) {
      const int ink = inverted ? in[c] : 255 - in[c];
      const int black = inverted ? in[3] : 255 - in[3];
      out[c] = static_cast<std::uint8_t>(ink * black / 255);
    }
    if (channels == 4) out[3] = 255;
  }
}

bool is_cmyk(const jpeg_decompress_struct& cinfo) {
  return cinfo.jpeg_color_space == JCS_CMYK || cinfo.jpeg_color_space == JCS_YCCK;
}

J_COLOR_SPACE output_space(const jpeg_decompress_struct& cinfo, int channels) {
  if (channels == 1) return JCS_GRAYSCALE;
  if (is_cmyk(cinfo)) return JCS_CMYK;
  return channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
}

}  // namespace

J_DCT_METHOD dct_method(Dct dct) { return dct == Dct::fast ? JDCT_IFAST : JDCT_ISLOW; }

Bytes JpegRows::cost(const ImageInfo& info) {
  return info.components == 4 ? Workspace::cost(Bytes{4} * info.width) : 0;
}

JpegRows::JpegRows(JpegSession& session, int channels, Dct dct, int eighths, Workspace& workspace)
    : session_(session), channels_(channels) {
  if (channels != 1 && channels != 3 && channels != 4) {
    throw DataError("[jpeg] the file cannot be decoded to " + std::to_string(channels) +
                    " channels");
  }
  jpeg_decompress_struct& cinfo = session.info();
  if (channels == 1 && is_cmyk(cinfo)) {
    throw DataError("[jpeg] a CMYK file cannot be decoded to gray; decode or save it as RGB");
  }
  cinfo.out_color_space = output_space(cinfo, channels);
  cinfo.do_fancy_upsampling = TRUE;
  cinfo.dct_method = dct_method(dct);
  cinfo.scale_num = static_cast<unsigned>(eighths);
  cinfo.scale_denom = 8;
  session.start();
  if (cinfo.out_color_space == JCS_CMYK) {
    cmyk_ = workspace.take_array<std::uint8_t>(std::size_t{4} * cinfo.output_width);
  }
}

void JpegRows::read(std::uint8_t* row) {
  JSAMPROW target = cmyk_ != nullptr ? cmyk_ : row;
  session_.read_rows(&target, 1);
  if (cmyk_ != nullptr) {
    cmyk_to_rgb(row, cmyk_, width(), channels_, session_.info().saw_Adobe_marker != 0);
  }
}

}  // namespace plimsoll::image
