#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <plimsoll/device/device.h>

namespace plimsoll {

class ChoiceTable;

/// The algorithms that a device's libraries (cuBLASLt and cuDNN on a GPU) chose, by what they were
/// chosen for. Both are printable text that means something to the backend alone.
using Choices = std::map<std::string, std::string>;

/// Where preferred choices come from: what messages say.
enum class ChoiceOrigin : std::uint8_t { checkpoint, file };

/// All that were chosen on the device so far in this process, and those that were preferred and not
/// needed yet. Empty where kernels leave no choice, as on the CPU. At most a few MiB.
Choices library_choices(const Device& device);

/// From now on whatever is prepared on the device takes these choices where it can, so that a run
/// that goes on computes the same bits. What was preferred for the same before and not needed yet
/// is forgotten. What cannot be had, because a library has another version, say, is chosen anew
/// with a warning.
void prefer_choices(const Device& device, const Choices& choices,
                    ChoiceOrigin origin = ChoiceOrigin::checkpoint);

/// The libraries that choose on the device, with their versions: "cuBLASLt 13.1.0, cuDNN 9.14.0".
/// Empty where kernels leave no choice.
std::string choosing_libraries(const Device& device);

/// The device's table, for whoever measures alternatives; null where kernels leave no choice. It
/// lasts as long as the device.
ChoiceTable* choice_table(const Device& device);

}  // namespace plimsoll
