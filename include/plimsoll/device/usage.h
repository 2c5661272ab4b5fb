#pragma once

#include <cstdint>
#include <string_view>

#include <plimsoll/base/bytes.h>

namespace plimsoll {

/// Who says what is held on a device.
enum class UsageSource : std::uint8_t {
  unknown,      ///< nobody was asked: the device was not opened
  process,      ///< the system, which counts for this process
  free_memory,  ///< it hides that; what is free was compared, in which other processes show
};

/// What is held on a device. With UsageSource::unknown `bytes` says nothing.
struct MemoryUse {
  Bytes bytes = 0;
  UsageSource source = UsageSource::unknown;
};

/// "unknown", "process", "free memory".
std::string_view usage_name(UsageSource source);
/// The line that belongs beside figures of UsageSource::free_memory; empty for the others.
std::string_view usage_note(UsageSource source);

}  // namespace plimsoll
