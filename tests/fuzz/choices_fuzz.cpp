// Any bytes at all: parse_choices throws DataError, or gives choices that are written and read
// again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <plimsoll/base/error.h>
#include <plimsoll/train/choices_file.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using plimsoll::train::parse_choices;
  if (size > 1 << 20) return 0;
  try {
    const auto file = parse_choices({reinterpret_cast<const char*>(data), size});
    const auto again = parse_choices(to_json(file));
    if (again.choices != file.choices || again.device != file.device) std::abort();
  } catch (const plimsoll::DataError&) {  // NOLINT(bugprone-empty-catch): one of the two outcomes
  }
  return 0;
}
