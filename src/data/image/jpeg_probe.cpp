#include <algorithm>
#include <string>

#include <plimsoll/base/error.h>

#include "data/image/exif.h"
#include "data/image/probe.h"

namespace plimsoll::image {
namespace {

// Marker codes of ITU-T T.81, table B.1.
constexpr std::uint32_t kTem = 0x01;
constexpr std::uint32_t kSofFirst = 0xc0;
constexpr std::uint32_t kSofProgressive = 0xc2;
constexpr std::uint32_t kSofArithmetic = 0xc9;
constexpr std::uint32_t kSofArithmeticProgressive = 0xca;
constexpr std::uint32_t kSofLast = 0xcf;
constexpr std::uint32_t kDht = 0xc4;
constexpr std::uint32_t kDac = 0xcc;
constexpr std::uint32_t kRst0 = 0xd0;
constexpr std::uint32_t kRst7 = 0xd7;
constexpr std::uint32_t kSoi = 0xd8;
constexpr std::uint32_t kEoi = 0xd9;
constexpr std::uint32_t kSos = 0xda;
constexpr std::uint32_t kApp1 = 0xe1;

// Like libjpeg, steps over anything that is not a marker.
std::uint32_t next_marker(HeaderReader& reader) {
  for (;;) {
    while (reader.number(1) != 0xff) {
    }
    std::uint32_t code = 0xff;
    while (code == 0xff) code = reader.number(1);
    if (code != 0) return code;
  }
}

bool is_frame(std::uint32_t marker) {
  return marker >= kSofFirst && marker <= kSofLast && marker != kDht && marker != kDac;
}

void read_frame(HeaderReader& segment, std::uint32_t marker, ImageInfo& info) {
  if (marker > kSofProgressive && marker != kSofArithmetic && marker != kSofArithmeticProgressive) {
    throw DataError("[jpeg] lossless and hierarchical files are not supported");
  }
  if (info.components != 0) throw DataError("[jpeg] two frame headers");
  info.progressive = marker == kSofProgressive || marker == kSofArithmeticProgressive;
  info.bits = static_cast<int>(segment.number(1));
  info.height = static_cast<int>(segment.number(2));
  info.width = static_cast<int>(segment.number(2));
  info.components = static_cast<int>(segment.number(1));
  if (info.bits != 8) {
    throw DataError("[jpeg] " + std::to_string(info.bits) +
                    " bits per sample; only 8 are supported");
  }
  if (info.width == 0 || info.height == 0) throw DataError("[jpeg] the image has no pixels");
  if (info.components < 1 || info.components > 4) {
    throw DataError("[jpeg] " + std::to_string(info.components) +
                    " components; 1 to 4 are supported");
  }
  for (int i = 0; i < info.components; ++i) {
    segment.skip(1);
    const std::uint32_t factors = segment.number(1);
    segment.skip(1);
    info.sampling[i].horizontal = static_cast<std::uint8_t>(factors >> 4);
    info.sampling[i].vertical = static_cast<std::uint8_t>(factors & 15);
    if (info.sampling[i].horizontal < 1 || info.sampling[i].horizontal > 4 ||
        info.sampling[i].vertical < 1 || info.sampling[i].vertical > 4) {
      throw DataError("[jpeg] sampling factors outside 1 to 4");
    }
  }
  info.channels = std::min(info.components, 3);
}

void read_exif(std::span<const std::byte> segment, ImageInfo& info) {
  constexpr std::string_view kMagic("Exif\0\0", 6);
  if (segment.size() < kMagic.size() ||
      !std::equal(kMagic.begin(), kMagic.end(), segment.begin(),
                  [](char a, std::byte b) { return static_cast<std::byte>(a) == b; })) {
    return;
  }
  info.orientation = exif_orientation(segment.subspan(kMagic.size()));
}

}  // namespace

ImageInfo probe_jpeg(std::span<const std::byte> data) {
  HeaderReader reader(data, "jpeg");
  reader.skip(2);
  ImageInfo info;
  info.format = Format::jpeg;
  for (;;) {
    const std::uint32_t marker = next_marker(reader);
    if (marker == kTem || (marker >= kRst0 && marker <= kRst7)) continue;
    if (marker == kSoi || marker == kEoi) throw DataError("[jpeg] the file holds no image");
    const std::uint32_t length = reader.number(2);
    if (length < 2) throw DataError("[jpeg] a segment is shorter than its own length field");
    const auto segment = reader.bytes(length - 2);
    HeaderReader fields(segment, "jpeg");
    if (is_frame(marker)) {
      read_frame(fields, marker, info);
    } else if (marker == kApp1) {
      read_exif(segment, info);
    } else if (marker == kSos) {
      if (info.components == 0) throw DataError("[jpeg] a scan before the frame header");
      const auto in_scan = static_cast<int>(fields.number(1));
      info.several_passes = info.progressive || in_scan < info.components;
      return info;
    }
  }
}

}  // namespace plimsoll::image
