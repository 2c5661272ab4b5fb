#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plimsoll/data/image/info.h>

namespace plimsoll::image {

/// Bytes read in order, big-endian; reading past the end throws HeaderCutOff.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> data, const char* format)
      : data_(data), format_(format) {}

  std::uint32_t number(int bytes);
  std::span<const std::byte> bytes(std::size_t count);
  void skip(std::size_t count) { bytes(count); }

 private:
  std::span<const std::byte> data_;
  const char* format_;
  std::size_t position_ = 0;
};

ImageInfo probe_jpeg(std::span<const std::byte> data);
ImageInfo probe_png(std::span<const std::byte> data);

/// Most bytes decode() takes for a picture of which all else is known.
Bytes jpeg_decode_scratch(const ImageInfo& info);
Bytes png_decode_scratch(const ImageInfo& info);

}  // namespace plimsoll::image
