#pragma once

#include <map>
#include <string>

#include <plimsoll/device/device.h>

namespace plimsoll {

/// The algorithms that a device's libraries (cuBLASLt and cuDNN on a GPU) chose, by what they were
/// chosen for. Both are printable text that means something to the backend alone.
using Choices = std::map<std::string, std::string>;

/// All that were chosen on the device so far in this process, and those that were preferred and not
/// needed yet. Empty where kernels leave no choice, as on the CPU. At most a few MiB.
Choices library_choices(const Device& device);

/// From now on whatever is prepared on the device takes these choices where it can, so that a run
/// that goes on computes the same bits. What cannot be had, because a library has another version,
/// say, is chosen anew with a warning.
void prefer_choices(const Device& device, const Choices& choices);

}  // namespace plimsoll
