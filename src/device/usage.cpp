#include <plimsoll/device/usage.h>

namespace plimsoll {

std::string_view usage_name(UsageSource source) {
  switch (source) {
    case UsageSource::process:
      return "process";
    case UsageSource::free_memory:
      return "free memory";
    case UsageSource::unknown:
      break;
  }
  return "unknown";
}

std::string_view usage_note(UsageSource source) {
  if (source != UsageSource::free_memory) return {};
  return "the driver hides what this process uses: figures are from the device's free memory, in "
         "which other processes show";
}

}  // namespace plimsoll
