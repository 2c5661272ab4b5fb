#include <string>
#include <string_view>

#include <plimsoll/base/error.h>

#include "data/image/exif.h"
#include "data/image/probe.h"

namespace plimsoll::image {
namespace {

constexpr std::uint32_t name(std::string_view text) {
  std::uint32_t result = 0;
  for (const char c : text) result = result << 8 | static_cast<unsigned char>(c);
  return result;
}

bool depth_fits(int colour, int bits) {
  switch (colour) {
    case 0:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    case 3:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    case 2:
    case 4:
    case 6:
      return bits == 8 || bits == 16;
    default:
      return false;
  }
}

int channels_of(const ImageInfo& info) {
  switch (info.png_colour) {
    case 0:
      return 1;
    case 4:
      return 2;
    case 6:
      return 4;
    case 3:
      return info.png_transparency ? 4 : 3;
    default:
      return 3;
  }
}

void read_header(HeaderReader& fields, ImageInfo& info) {
  constexpr std::uint32_t kMax = 0x7fffffff;
  const std::uint32_t width = fields.number(4);
  const std::uint32_t height = fields.number(4);
  info.bits = static_cast<int>(fields.number(1));
  info.png_colour = static_cast<int>(fields.number(1));
  fields.skip(2);
  const std::uint32_t interlace = fields.number(1);
  if (width == 0 || height == 0) throw DataError("[png] the image has no pixels");
  if (width > kMax || height > kMax) throw DataError("[png] the size is out of range");
  if (!depth_fits(info.png_colour, info.bits)) {
    throw DataError("[png] colour type " + std::to_string(info.png_colour) + " with " +
                    std::to_string(info.bits) + " bits does not exist");
  }
  if (interlace > 1) throw DataError("[png] unknown interlacing");
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
  info.progressive = info.several_passes = interlace == 1;
}

}  // namespace

ImageInfo probe_png(std::span<const std::byte> data) {
  HeaderReader reader(data, "png");
  reader.skip(8);
  ImageInfo info;
  info.format = Format::png;
  for (bool first = true;; first = false) {
    const std::uint32_t length = reader.number(4);
    const std::uint32_t chunk = reader.number(4);
    if (first != (chunk == name("IHDR")) || (first && length != 13)) {
      throw DataError("[png] the file does not start with one header chunk");
    }
    if (chunk == name("IDAT")) break;
    if (chunk == name("IEND")) throw DataError("[png] the file holds no image");
    const auto content = reader.bytes(length);
    HeaderReader fields(content, "png");
    if (first) read_header(fields, info);
    if (chunk == name("tRNS")) info.png_transparency = true;
    if (chunk == name("eXIf")) info.orientation = exif_orientation(content);
    reader.skip(4);
  }
  info.channels = channels_of(info);
  return info;
}

}  // namespace plimsoll::image
