// Any bytes after an .npy signature: elements or DataError, within the budget.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "data/npy_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static plimsoll::data::testing::NpyCheck check;
  // The first byte chooses what is done with the rest.
  const std::uint32_t choice = size == 0 ? 0 : *data;
  std::string text = "\x93NUMPY";
  if (size > 1) text.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string broken = check(text, choice);
  if (!broken.empty()) {
    std::fprintf(stderr, "%s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
