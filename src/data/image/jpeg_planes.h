#pragma once

#include <plimsoll/data/image/decode.h>

#include "data/image/jpeg_session.h"
#include "data/image/row_resizer.h"

namespace plimsoll::image {

/// Whether feed_planes() can decode this picture at eighths/8: three components, chroma at full or
/// half resolution in each direction, or one. What else there is, libjpeg converts itself.
bool planes_supported(const ImageInfo& info, int eighths);

/// Most bytes that feed_planes() takes from its workspace, beside libjpeg's own.
Bytes planes_cost(const ImageInfo& info);

/// Decodes to planes and converts only those rows and columns to RGB that `resizer` wants. The
/// pixels have the bits that libjpeg's own upsampling (the "fancy" one) and colour conversion give.
///
/// `session` has a picture of YCbCr, or a gray one, and was not started; it is decoded at
/// eighths/8. JpegScan reads what it can; what it cannot, or gives up, libjpeg reads from the
/// start.
///
/// Resizing the planes first and converting the small result would be no faster with these
/// kernels, and wrong where the conversion clips: averages of clipped colours differ from clipped
/// averages by far more than rounding.
void feed_planes(JpegSession& session, Dct dct, int eighths, Workspace& workspace,
                 RowSink& resizer);

}  // namespace plimsoll::image
