#include <plimsoll/device/choices.h>

#include "device/device_state.h"

namespace plimsoll {

Choices library_choices(const Device& device) {
  return Device::State::opened(device, "library_choices").choices();
}

void prefer_choices(const Device& device, const Choices& choices) {
  Device::State::opened(device, "prefer_choices").prefer(choices);
}

}  // namespace plimsoll
