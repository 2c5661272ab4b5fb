#include "data/image/exif.h"

#include <cstdint>

namespace plimsoll::image {
namespace {

class TiffReader {
 public:
  TiffReader(std::span<const std::byte> data, bool big_endian)
      : data_(data), big_endian_(big_endian) {}

  bool has(std::size_t offset, std::size_t count) const {
    return offset <= data_.size() && count <= data_.size() - offset;
  }
  std::uint32_t number(std::size_t offset, int bytes) const {
    std::uint32_t result = 0;
    for (int i = 0; i < bytes; ++i) {
      const int at = big_endian_ ? i : bytes - 1 - i;
      result = result << 8 | std::to_integer<std::uint32_t>(data_[offset + at]);
    }
    return result;
  }

 private:
  std::span<const std::byte> data_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr std::uint32_t kOrientationTag = 0x0112;
  constexpr std::uint32_t kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  if (tiff.size() < 8) return 1;
  const bool big_endian = tiff[0] == std::byte{'M'};
  const TiffReader reader(tiff, big_endian);
  if (tiff[0] != tiff[1] || (!big_endian && tiff[0] != std::byte{'I'}) ||
      reader.number(2, 2) != 42) {
    return 1;
  }
  const std::size_t directory = reader.number(4, 4);
  if (!reader.has(directory, 2)) return 1;
  const std::uint32_t entries = reader.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (!reader.has(entry, kEntryBytes)) return 1;
    if (reader.number(entry, 2) != kOrientationTag) continue;
    const std::uint32_t value = reader.number(entry + 8, 2);
    const bool valid = reader.number(entry + 2, 2) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace plimsoll::image
