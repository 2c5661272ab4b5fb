#include <plimsoll/data/digits.h>

#include <cstdint>
#include <vector>

#include <zstd.h>

#include <plimsoll/base/error.h>

#include "data/sources/digits_data.h"

namespace plimsoll::data {

Digits load_digits(const Device& device) {
  constexpr std::int64_t kCount = 1797;
  constexpr std::int64_t kSide = 8;
  constexpr std::size_t kPixels = kCount * kSide * kSide;
  std::vector<std::uint8_t> bytes(kPixels + kCount);
  const std::span<const unsigned char> packed = digits_data();
  const std::size_t size =
      ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (size != bytes.size())
    throw InternalError("[load_digits] the digits in the library are broken");

  const TensorOptions options{.tag = Tag::input, .label = "digits"};
  const std::vector<std::int64_t> labels(bytes.begin() + kPixels, bytes.end());
  return {.images = Tensor::from_values(std::span<const std::uint8_t>(bytes.data(), kPixels),
                                        {kCount, kSide, kSide}, device, options),
          .labels = Tensor::from_values(std::span<const std::int64_t>(labels), {kCount}, device,
                                        options)};
}

}  // namespace plimsoll::data
