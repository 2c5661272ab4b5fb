// Any bytes after a JPEG signature: a picture or DataError, within the memory stated beforehand.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "data/image_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace testing = plimsoll::image::testing;
  constexpr unsigned char kSignature[] = {0xff, 0xd8, 0xff};
  // The first four bytes choose what is done with the rest.
  std::uint32_t choice = 0;
  for (std::size_t i = 0; i < 4 && size > 0; ++i, ++data, --size) choice = choice << 8 | *data;
  testing::File file;
  for (const unsigned char byte : kSignature) file.push_back(std::byte{byte});
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  file.insert(file.end(), bytes, bytes + size);
  const std::string broken = testing::check_picture(file, choice);
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
