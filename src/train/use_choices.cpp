// Choices of a file that a trainer was given, on the device that it trains on.

#include <utility>

#include <fmt/format.h>

#include <plimsoll/base/log.h>
#include <plimsoll/base/printable.h>
#include <plimsoll/device/choice_table.h>

#include "train/trainer_impl.h"

namespace plimsoll::train {

void Trainer::Impl::prefer_choices_on(const Device& device) {
  if (!choices) return;
  const std::string why = why_not_for(*choices, device);
  if (!why.empty()) {
    log_warning(
        fmt::format("[choices] {} is not used: {}; run `plimsoll tune` here for one that fits",
                    printable(options.choices), why));
    return;
  }
  prefer_choices(device, choices->choices, ChoiceOrigin::file);
  choices_unchecked = true;
}

void Trainer::Impl::check_choices_on(const Device& device) {
  if (!std::exchange(choices_unchecked, false) || choices->choices.empty()) return;
  const ChoiceTable* const table = choice_table(device);
  if (table != nullptr && table->count_asked(choices->choices) != 0) return;
  log_warning(
      fmt::format("[choices] {} has nothing for this step: none of its {} keys is asked for; run "
                  "`plimsoll tune` with the model, batch and precision of this run",
                  printable(options.choices), choices->choices.size()));
}

}  // namespace plimsoll::train
