// Any bytes as a file of this format: elements or DataError, within the budget.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "data/record_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static plimsoll::data::testing::RecordCheck check;
  static const auto format = plimsoll::data::testing::damaged_format("tfrecord large");
  // The first byte chooses what is done with the rest.
  const std::uint32_t choice = size == 0 ? 0 : *data;
  const std::string text =
      size > 1 ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1) : "";
  const std::string broken = check(format, text, choice);
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
