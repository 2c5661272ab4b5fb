#pragma once

#include <cstddef>
#include <span>

namespace plimsoll::image {

/// The orientation, 1 to 8, in an EXIF block that starts at its TIFF header ("II" or "MM"); 1 if
/// there is none or the block is malformed. A bad tag is no reason to refuse a picture.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace plimsoll::image
