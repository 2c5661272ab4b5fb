#include <plimsoll/device/choices.h>

#include <plimsoll/device/choice_table.h>

#include "device/device_state.h"

namespace plimsoll {

ChoiceTable* choice_table(const Device& device) {
  return Device::State::opened(device, "choice_table").choice_table();
}

Choices library_choices(const Device& device) {
  const ChoiceTable* const table = choice_table(device);
  return table == nullptr ? Choices() : table->all();
}

void prefer_choices(const Device& device, const Choices& choices, ChoiceOrigin origin) {
  if (ChoiceTable* const table = choice_table(device)) table->prefer(choices, origin);
}

std::string choosing_libraries(const Device& device) {
  const ChoiceTable* const table = choice_table(device);
  return table == nullptr ? std::string() : table->libraries();
}

}  // namespace plimsoll
