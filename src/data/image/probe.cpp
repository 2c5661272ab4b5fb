#include "data/image/probe.h"

#include <algorithm>
#include <array>
#include <string>

#include <plimsoll/base/error.h>

namespace plimsoll::image {
namespace {

template <std::size_t N>
bool starts_with(std::span<const std::byte> data, const std::array<unsigned char, N>& magic) {
  return data.size() >= N &&
         std::equal(magic.begin(), magic.end(), data.begin(),
                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

}  // namespace

std::uint32_t HeaderReader::number(int count) {
  std::uint32_t result = 0;
  for (const std::byte value : bytes(static_cast<std::size_t>(count))) {
    result = result << 8 | std::to_integer<std::uint32_t>(value);
  }
  return result;
}

std::span<const std::byte> HeaderReader::bytes(std::size_t count) {
  if (count > data_.size() - position_) {
    throw HeaderCutOff(std::string("[") + format_ + "] the header is cut off after " +
                       std::to_string(data_.size()) + " bytes");
  }
  const auto result = data_.subspan(position_, count);
  position_ += count;
  return result;
}

ImageInfo probe(std::span<const std::byte> data, const ProbeOptions& options) {
  constexpr std::array<unsigned char, 3> kJpeg{0xff, 0xd8, 0xff};
  constexpr std::array<unsigned char, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const bool jpeg = starts_with(data, kJpeg);
  if (!jpeg && !starts_with(data, kPng)) {
    throw DataError(
        "[image] neither a JPEG nor a PNG file: " +
        (data.empty() ? std::string("it is empty") : std::string("unknown first bytes")));
  }
  ImageInfo info = jpeg ? probe_jpeg(data) : probe_png(data);
  if (std::int64_t{info.width} * info.height > options.max_pixels) {
    throw DataError("[image] " + std::to_string(info.width) + " x " + std::to_string(info.height) +
                    " pixels exceed the limit of " + std::to_string(options.max_pixels) +
                    "; make it smaller, or raise max_pixels in a program that trusts it");
  }
  info.scratch = jpeg ? jpeg_decode_scratch(info) : png_decode_scratch(info);
  return info;
}

}  // namespace plimsoll::image
