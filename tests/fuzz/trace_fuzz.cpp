// Any bytes at all: parse_trace throws DataError or gives a trace that keeps its promises.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <plimsoll/base/error.h>
#include <plimsoll/memory/trace.h>

#include "support/trace_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plimsoll::Trace trace =
        plimsoll::parse_trace({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string broken = plimsoll::testing::check_trace(trace);
    if (!broken.empty()) {
      std::fprintf(stderr, "%s\n", broken.c_str());
      std::abort();
    }
  } catch (const plimsoll::DataError&) {  // NOLINT(bugprone-empty-catch): one of the two outcomes
  }
  return 0;
}
