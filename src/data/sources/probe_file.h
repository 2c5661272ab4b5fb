#pragma once

#include <string>

#include <plimsoll/data/image/info.h>

namespace plimsoll::data {

/// What a picture's header says, and the file's size in bytes.
struct PictureFile {
  image::ImageInfo image;
  Bytes size = 0;
};

/// Reads the beginning of a file: 16 KiB, up to 8 MiB where the header is longer, in memory of no
/// budget that is given back at once. DataError where the file cannot be read, or as image::probe.
PictureFile probe_file(const std::string& path);

}  // namespace plimsoll::data
