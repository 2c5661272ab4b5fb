// Any bytes at all: parse_safetensors throws DataError or gives a header that keeps its promises.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <plimsoll/base/error.h>
#include <plimsoll/train/safetensors.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto header = plimsoll::train::parse_safetensors({data, size}, size, "fuzz");
    std::uint64_t at = 0;
    for (const auto& entry : header.entries) {
      if (entry.begin != at || entry.end - entry.begin != entry.type.bytes()) std::abort();
      at = entry.end;
    }
    if (at + header.data_offset != size) std::abort();
  } catch (const plimsoll::DataError&) {  // NOLINT(bugprone-empty-catch): one of the two outcomes
  }
  return 0;
}
