// Any bytes at all: reading a run log throws nothing, names what it could not read, and what it
// gives can be drawn.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <plimsoll/report/html.h>
#include <plimsoll/report/run.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const plimsoll::report::Run run =
      plimsoll::report::read_run_log({reinterpret_cast<const char*>(data), size});
  for (const auto& device : run.devices) {
    for (const auto& memory : device.memory) {
      for (const auto& held : memory.held) {
        if (held.holder >= run.holders.size()) std::abort();
      }
    }
  }
  if (plimsoll::report::html_data({&run, 1}).find('<') != std::string::npos) std::abort();
  return 0;
}
